import { useQuery } from "@tanstack/react-query";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Loading } from "../parts/feedback";
import { formatDuration } from "../parts/zone";
import css from "./admin.module.css";
import { type Limit, limitsQuery } from "./queries";

const day = 86_400;

/** Formats the value of a limit. */
export function amount(n: number, unit: string): string {
  if (unit === "seconds") return n >= day && n % day === 0 ? `${(n / day).toLocaleString("en")} ${n === day ? "day" : "days"}` : formatDuration(n * 1000);
  if (unit === "bytes") return `${(n / 2 ** 20).toLocaleString("en", { maximumFractionDigits: 1 })} MB`;
  return `${n.toLocaleString("en")} ${n === 1 ? unit.replace(/s$/, "") : unit}`;
}

/** The limits of the server, their current use, and the settings that change them. */
export function Limits() {
  const query = useQuery(limitsQuery);
  return (
    <>
      {!query.data && <Loading query={query} rows={8} />}
      {query.data && (
        <table className={css.table}>
          <thead>
            <tr>
              <th>Limit</th>
              <th>Maximum</th>
              <th>Now</th>
              <th>Setting</th>
            </tr>
          </thead>
          <tbody>
            {query.data.limits.map((l) => (
              <tr key={l.name}>
                <th scope="row">{l.about}</th>
                <td data-label="Maximum">{l.value === null ? "no limit" : amount(l.value, l.unit)}</td>
                <td data-label="Now" data-none={l.use === null || undefined}>
                  <Use limit={l} />
                </td>
                <td data-label="Setting" data-none={l.setting === null || undefined}>{l.setting === null ? "–" : <code>{l.setting}</code>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <div className={css.foot}>
        <CommandLine line={commands.limits()} />
      </div>
    </>
  );
}

function Use({ limit }: { limit: Limit }) {
  if (limit.use === null) return <>–</>;
  const text = amount(limit.use, limit.unit);
  if (limit.value === null) return <>{text}</>;
  return (
    <span className={css.use}>
      <meter min={0} max={limit.value} high={limit.value * 0.8} value={limit.use} aria-label={limit.about} />
      {text}
    </span>
  );
}
