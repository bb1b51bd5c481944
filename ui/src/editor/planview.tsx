import { Repeat } from "lucide-react";
import { useMemo } from "react";
import type { Plan } from "./plan";
import { planRows } from "./plan";
import css from "./planview.module.css";

type Props = {
  plan: Plan;
  /** The plan belongs to the current text. */
  current: boolean;
  go: (place: { file: string; line: number; column: number }) => void;
};

/** The maximum number of rows: a plan is for an overview, not for searching. */
const most = 300;

/** The tasks of the edited workflow; selecting one shows its place. */
export function PlanView({ plan, current, go }: Props) {
  const rows = useMemo(() => planRows(plan), [plan]);
  return (
    <section className={css.pane} aria-labelledby="plan">
      <h2 id="plan">
        Plan {!current && <small>of the last valid version</small>}
      </h2>
      <ol className={css.plan} aria-label="Plan" tabIndex={0}>
        {rows.slice(0, most).map((r) => (
          <li key={r.task}>
            <button type="button" disabled={r.place === null} onClick={() => r.place && go(r.place)} style={{ paddingLeft: 16 + r.depth * 14 }}>
              {r.beside && (
                <span className={css.beside} title="Runs in parallel with the task above" aria-label="in parallel with the task above:">
                  ∥
                </span>
              )}
              <bdi>{r.label}</bdi>
              {r.operator && <small>{r.operator}&gt;</small>}
              {r.turns && (
                <span className={css.turns} title="The tasks below run once for each iteration; the number is only known at run time">
                  <Repeat size={12} aria-label="each turn" />
                </span>
              )}
            </button>
          </li>
        ))}
        {(rows.length > most || !plan.all) && <li className={css.more}>{rows.length > most ? `${(rows.length - most).toLocaleString("en")} more tasks` : "There are more tasks."}</li>}
      </ol>
    </section>
  );
}
