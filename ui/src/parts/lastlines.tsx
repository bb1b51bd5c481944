import { plain } from "../log/ansi";
import css from "./lastlines.module.css";

type Props = { lines: readonly string[]; most?: number; className?: string | undefined };

/** The last lines of a log, for places without room for all of it; nothing if there are none. */
export function LastLines({ lines, most = 5, className = "" }: Props) {
  if (lines.length === 0) return null;
  return (
    <pre className={`${css.lines} ${className}`} role="group" aria-label="Last lines of the log">
      {lines.slice(-most).map((line, i) => (
        <span key={i}>{plain(line)}</span>
      ))}
    </pre>
  );
}
