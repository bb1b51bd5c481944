import css from "./panel.module.css";
import { Empty } from "../parts/feedback";

/** Parameters as a list of names and values: strings as they are, everything else as JSON. */
export function Values({ values, none }: { values: Record<string, unknown>; none: string }) {
  const entries = Object.entries(values);
  if (entries.length === 0) return <Empty>{none}</Empty>;
  return (
    <dl className={css.values}>
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</dd>
        </div>
      ))}
    </dl>
  );
}
