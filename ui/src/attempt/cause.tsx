import { useQuery } from "@tanstack/react-query";
import { ChevronRight, ScrollText } from "lucide-react";
import { useState } from "react";
import type { Attempt, Schemas } from "../api/client";
import { causeQuery, comparisonQuery } from "../api/queries";
import { type Outline, shownName, type Task } from "../live/outline";
import { Button } from "../parts/button";
import { exitWords } from "../parts/exit";
import { LastLines } from "../parts/lastlines";
import { Mark } from "../parts/mark";
import { SessionTime } from "../parts/time";
import { formatDuration } from "../parts/zone";
import css from "./cause.module.css";

type Comparison = Schemas["Comparison"];

/** How many lines from the end of the log are shown. */
const linesTold = 3;

type Props = {
  attempt: Attempt;
  outline: Outline;
  task: Task;
  /** The log of the task is visible: next to this if there is room for both, or below in its place. */
  seen: { beside: boolean; below: boolean };
  onLog: () => void;
};

/** Why an attempt failed, and the changes since its workflow last succeeded. */
export function Cause({ attempt, outline, task, seen, onLog }: Props) {
  const query = useQuery(comparisonQuery(attempt.id));
  const cause = useQuery(causeQuery(attempt.id));
  const [open, setOpen] = useState(false);
  const others = [...outline.tasks.values()].filter((t) => t.state === "error" && t.id !== task.id && outline.errors.has(t.id)).length;
  return (
    <section className={css.cause} aria-label="Why it failed" data-beside={seen.beside || undefined} data-below={seen.below || undefined}>
      <div className={css.row}>
        <Mark state="error" size={16} />
        <p className={css.text}>
          <code>{shownName(task.full)}</code>
          <span className={css.message}>{outline.errors.get(task.id)}</span>
          <small>
            {[exitWords(outline.errors.get(task.id) ?? ""), task.runs > 1 && `run ${task.runs} times`, others > 0 && `${others} more failed`].filter(Boolean).join(" · ")}
          </small>
        </p>
        <span className={css.tools}>
          {query.data && (
            <Button look="quiet" aria-expanded={open} onClick={() => setOpen(!open)} className={css.since}>
              <ChevronRight size={14} aria-hidden /> {summary(query.data)}
            </Button>
          )}
          <Button onClick={onLog}>
            <ScrollText size={14} aria-hidden /> Log
          </Button>
        </span>
      </div>
      {cause.isPending ? <div className={css.lines} /> : cause.data?.task === task.full && <LastLines lines={cause.data.lines} most={linesTold} className={css.lines} />}
      {open && query.data && <Since comparison={query.data} />}
    </section>
  );
}

/** Summarizes the number of changes. */
function summary(c: Comparison): string {
  if (c.with === null) return c.looked ? "Never succeeded" : "None of the last 500 succeeded";
  const n = (c.revision.from !== c.revision.to ? 1 : 0) + (c.files?.length ?? 0) + c.params.length + c.tasks.length;
  return n === 0 ? "No changes since the last success" : `${n} ${n === 1 ? "change" : "changes"} since the last success`;
}

function Since({ comparison: c }: { comparison: Comparison }) {
  if (c.with === null) return <p className={css.none}>There is no earlier successful attempt to compare with.</p>;
  const show = (v: unknown) => (v === null ? "–" : typeof v === "string" ? v : JSON.stringify(v));
  return (
    <dl className={css.list}>
      <div>
        <dt>Last success</dt>
        <dd>
          session <SessionTime text={c.with.sessionTime} />, attempt {c.with.id}
        </dd>
      </div>
      {c.revision.from !== c.revision.to && <Pair name="Revision" from={c.revision.from ?? "–"} to={c.revision.to ?? "–"} />}
      {c.files?.map((f) => (
        <div key={f.path}>
          <dt>File {f.kind}</dt>
          <dd>
            <code>{f.path}</code>
          </dd>
        </div>
      ))}
      {c.files === null && (
        <div>
          <dt>Files</dt>
          <dd>could not be compared: an archive was removed, or is too large</dd>
        </div>
      )}
      {c.params.map((p) => (
        <Pair key={p.name} name={`Parameter ${p.name}`} from={show(p.from)} to={show(p.to)} />
      ))}
      {c.tasks.map((t) => (
        <Pair key={t.name} name={t.name} from={formatDuration(t.from)} to={formatDuration(t.to)} />
      ))}
    </dl>
  );
}

function Pair({ name, from, to }: { name: string; from: string; to: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <code>{from}</code> <span aria-label="became">→</span> <code>{to}</code>
      </dd>
    </div>
  );
}
