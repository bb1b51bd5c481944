import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { answered, client } from "../api/client";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Dialog, DialogFoot } from "../parts/dialog";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Mark } from "../parts/mark";
import { SessionTime } from "../parts/time";
import { zonedTime } from "./params";
import { datesQuery, type PastDate, type Schedule, type Workflow } from "./queries";
import css from "./start.module.css";

/** The maximum number of sessions in a preview. */
const most = 400;

const day = 86_400_000;
const isDay = (text: string) => /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text);
const dayText = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** Shows the past times of a schedule with their sessions, and starts a backfill of the selected ones. */
export function BackfillDialog({ workflow, schedule, onClose }: { workflow: Workflow; schedule: Schedule; onClose: (started: boolean) => void }) {
  const [from, setFrom] = useState(() => dayText(Date.now() - 14 * day));
  const [to, setTo] = useState(() => dayText(Date.now()));
  const begin = isDay(from) ? zonedTime(`${from}T00:00`, workflow.timezone) : null;
  const end = isDay(to) ? zonedTime(`${dayText(Date.parse(to) + day)}T00:00`, workflow.timezone) : null;
  const query = useQuery({ ...datesQuery(schedule.id, begin ?? "", end, most), enabled: begin !== null && end !== null && from <= to });
  return (
    <Dialog open onClose={() => onClose(false)} title={`Backfill ${workflow.name}`} wide>
      <div className={css.range}>
        <label>
          From
          <input type="date" value={from} max={to} onChange={(e) => setFrom(e.target.value)} />
        </label>
        <label>
          To
          <input type="date" value={to} min={from} onChange={(e) => setTo(e.target.value)} />
        </label>
      </div>
      {query.data ? (
        <Dates key={`${begin} ${end}`} workflow={workflow} dates={query.data.dates} all={query.data.all} from={from} onClose={onClose} />
      ) : from > to ? (
        <Empty>The first day is after the last day.</Empty>
      ) : (
        <Loading query={query} rows={5} height={32} />
      )}
    </Dialog>
  );
}

/** The maximum number of concurrent sessions of a backfill. */
const mostAtOnce = 100;

function Dates({ workflow, dates, all, from, onClose }: { workflow: Workflow; dates: PastDate[]; all: boolean; from: string; onClose: (started: boolean) => void }) {
  const queries = useQueryClient();
  const [unticked, setUnticked] = useState<ReadonlySet<string>>(new Set());
  const [parallel, setParallel] = useState(1);
  const [name] = useState(() => `page-${crypto.randomUUID()}`); // a second click does not start a second backfill
  const fresh = useMemo(() => dates.filter((d) => d.state === "new" && !d.ahead), [dates]);
  const chosen = fresh.filter((d) => !unticked.has(d.sessionTime));
  const tick = (time: string) =>
    setUnticked((before) => {
      const now = new Set(before);
      if (!now.delete(time)) now.add(time);
      return now;
    });
  const start = useMutation({
    mutationFn: () =>
      answered(client.POST("/api/backfills", { body: { workflowId: workflow.id, name, dates: chosen.map((d) => d.sessionTime), parallel, order: "asc", existing: "skip", priority: "low", dryRun: false } })),
    onSuccess: () => {
      void queries.invalidateQueries();
      onClose(true);
    },
  });
  if (dates.length === 0) return <Empty>The schedule has no sessions between these days.</Empty>;
  return (
    <>
      <div className={css.dates} tabIndex={0} role="region" aria-label="Sessions of the schedule">
        <table>
          <thead>
            <tr>
              <th>
                <input
                  type="checkbox"
                  aria-label="All new sessions"
                  checked={chosen.length === fresh.length && fresh.length > 0}
                  disabled={fresh.length === 0 || start.isPending}
                  onChange={(e) => setUnticked(e.target.checked ? new Set() : new Set(fresh.map((d) => d.sessionTime)))}
                />
              </th>
              <th>Session</th>
              <th>Status</th>
            </tr>
          </thead>
          <tbody>
            {dates.map((d) => {
              const isNew = d.state === "new" && !d.ahead;
              return (
                <tr key={d.sessionTime}>
                  <td>
                    <input type="checkbox" aria-label={`Start ${d.sessionTime}`} checked={isNew && !unticked.has(d.sessionTime)} disabled={!isNew || start.isPending} onChange={() => tick(d.sessionTime)} />
                  </td>
                  <td>
                    <SessionTime text={d.sessionTime} />
                  </td>
                  <td>
                    {d.ahead ? (
                      <small>started by the schedule</small>
                    ) : d.attemptId === null ? (
                      <small>new</small>
                    ) : (
                      <Link to="/attempts/$id" params={{ id: d.attemptId }}>
                        <Mark state={d.state} word />
                      </Link>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {!all && <p className={css.progress}>Older sessions were not checked, so some sessions shown as new may exist. Existing sessions are not started again.</p>}
      {dates.length === most && <p className={css.progress}>These are the first {most} sessions: choose a later first day for more.</p>}
      {chosen.length > 0 && chosen.length === dates.length && <CommandLine line={commands.backfill(workflow.project.name, workflow.name, from, dates.length, parallel)} />}
      <div className={css.range}>
        <label>
          In parallel
          <input type="number" min={1} max={mostAtOnce} value={parallel} onChange={(e) => setParallel(Math.max(1, Math.min(mostAtOnce, Math.trunc(Number(e.target.value)) || 1)))} />
        </label>
      </div>
      {start.error && <Failure error={start.error} />}
      <DialogFoot>
        <Button onClick={() => onClose(false)}>Cancel</Button>
        <Button look="main" disabled={chosen.length === 0 || start.isPending} onClick={() => start.mutate()}>
          Start {chosen.length}
        </Button>
      </DialogFoot>
    </>
  );
}
