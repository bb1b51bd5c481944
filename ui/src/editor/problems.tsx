import { Failure } from "../parts/feedback";
import { oneWord } from "./fix";
import type { Finding, useCheck } from "./useCheck";
import css from "./workbench.module.css";

type Props = { check: ReturnType<typeof useCheck>; go: (f: Finding, fix?: boolean) => void; mayChange: boolean };

/** The errors and hints of the files with their fixes; selecting one shows its place. */
export function Problems({ check, go, mayChange }: Props) {
  return (
    <section className={css.problems} aria-labelledby="problems">
      <div className={css.tools}>
        <h2 id="problems" role="status">
          {says(check)}
        </h2>
        {check.findings.length > 0 && <kbd title="Go to the next problem">F8</kbd>}
      </div>
      {check.error !== null && <Failure error={check.error} />}
      <ul>
        {check.findings.map((f, i) => (
          <li key={i} data-refused={f.refused || undefined}>
            <button type="button" onClick={() => go(f)}>
              <span className={css.place}>
                {f.refused ? "Error" : "Hint"}
                {f.file && (
                  <code>
                    <bdi>{f.file}</bdi>
                    {f.line > 0 && `:${f.line}:${f.column}`}
                  </code>
                )}
              </span>
              {f.message}
              {f.hint && <small>{f.hint}</small>}
            </button>
            {mayChange && oneWord(f) && (
              <button type="button" className={css.fix} title="Ctrl . in the line" onClick={() => go(f, true)}>
                Fix
              </button>
            )}
          </li>
        ))}
      </ul>
      {check.more && <p className={css.hint}>There are more.</p>}
    </section>
  );
}

const counted = (n: number, one: string) => (n === 0 ? null : `${n} ${one}${n === 1 ? "" : "s"}`);

/** Summarizes the state of the check. */
function says({ findings, current, error }: ReturnType<typeof useCheck>): string {
  const errors = findings.filter((f) => f.refused).length;
  const found = [counted(errors, "error"), counted(findings.length - errors, "hint")].filter(Boolean).join(", ");
  if (found) return found;
  return error !== null ? "Not checked" : current ? "No problems" : "Checking…";
}
