import { Check, Copy } from "lucide-react";
import { useState } from "react";
import css from "./command.module.css";

/** The equivalent command line, with a button to copy it. */
export function CommandLine({ line }: { line: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () =>
    void navigator.clipboard?.writeText(line).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  return (
    <div className={css.command}>
      <span aria-hidden>$</span>
      <code tabIndex={0}>{line}</code>
      <button type="button" onClick={copy} aria-label={copied ? "Copied" : "Copy the command"}>
        {copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      </button>
    </div>
  );
}
