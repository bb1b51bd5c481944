import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { answered, client, Refusal } from "../api/client";
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

/** How many times of a schedule a preview has. */
const most = 400;

const day = 86_400_000;
const isDay = (text: string) => /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text);
const dayText = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** Shows the past times of a schedule with the sessions that there are, and starts those that were chosen. */
export function BackfillDialog({ workflow, schedule, onClose }: { workflow: Workflow; schedule: Schedule; onClose: () => void }) {
  const [from, setFrom] = useState(() => dayText(Date.now() - 14 * day));
  const [to, setTo] = useState(() => dayText(Date.now()));
  const begin = isDay(from) ? zonedTime(`${from}T00:00`, workflow.timezone) : null;
  const end = isDay(to) ? zonedTime(`${dayText(Date.parse(to) + day)}T00:00`, workflow.timezone) : null;
  const query = useQuery({ ...datesQuery(schedule.id, begin ?? "", end, most), enabled: begin !== null && end !== null && from <= to });
  return (
    <Dialog open onClose={onClose} title={`Backfill ${workflow.name}`} wide>
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
        <Empty>The first day is after the last one.</Empty>
      ) : (
        <Loading query={query} rows={5} height={32} />
      )}
    </Dialog>
  );
}

type Run = { done: number; of: number; errors: { date: string; error: unknown }[] };

function Dates({ workflow, dates, all, from, onClose }: { workflow: Workflow; dates: PastDate[]; all: boolean; from: string; onClose: () => void }) {
  const queries = useQueryClient();
  const [unticked, setUnticked] = useState<ReadonlySet<string>>(new Set());
  const [run, setRun] = useState<Run | null>(null);
  const fresh = useMemo(() => dates.filter((d) => d.state === "new" && !d.ahead), [dates]);
  const chosen = fresh.filter((d) => !unticked.has(d.sessionTime));
  const tick = (time: string) =>
    setUnticked((before) => {
      const now = new Set(before);
      if (!now.delete(time)) now.add(time);
      return now;
    });
  const start = async () => {
    const state: Run = { done: 0, of: chosen.length, errors: [] };
    setRun({ ...state });
    for (const { sessionTime } of chosen) {
      try {
        await answered(client.PUT("/api/attempts", { body: { workflowId: workflow.id, sessionTime, params: {}, retryAttemptName: null } }));
      } catch (error) {
        // Somebody else has started this session meanwhile: it runs, as was asked.
        if (!(error instanceof Refusal && error.status === 409)) state.errors.push({ date: sessionTime, error });
        if (error instanceof Refusal && (error.status === 0 || error.status === 401 || error.status === 403)) break;
      }
      state.done++;
      setRun({ ...state });
    }
    void queries.invalidateQueries();
    if (state.errors.length === 0) onClose();
  };
  if (dates.length === 0) return <Empty>The schedule has no time between these days.</Empty>;
  const running = run !== null && run.done < run.of && run.errors.length === 0;
  return (
    <>
      <div className={css.dates} tabIndex={0} role="region" aria-label="Times of the schedule">
        <table>
          <thead>
            <tr>
              <th>
                <input
                  type="checkbox"
                  aria-label="All that are new"
                  checked={chosen.length === fresh.length && fresh.length > 0}
                  disabled={fresh.length === 0 || running}
                  onChange={(e) => setUnticked(e.target.checked ? new Set() : new Set(fresh.map((d) => d.sessionTime)))}
                />
              </th>
              <th>Session</th>
              <th>There is</th>
            </tr>
          </thead>
          <tbody>
            {dates.map((d) => {
              const isNew = d.state === "new" && !d.ahead;
              return (
                <tr key={d.sessionTime}>
                  <td>
                    <input type="checkbox" aria-label={`Start ${d.sessionTime}`} checked={isNew && !unticked.has(d.sessionTime)} disabled={!isNew || running} onChange={() => tick(d.sessionTime)} />
                  </td>
                  <td>
                    <SessionTime text={d.sessionTime} />
                  </td>
                  <td>
                    {d.ahead ? (
                      <small>the schedule starts it</small>
                    ) : d.attemptId === null ? (
                      <small>nothing yet</small>
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
      {!all && <p className={css.progress}>Older sessions were not looked at: what is new here may be there. A session that is there is not started again.</p>}
      {dates.length === most && <p className={css.progress}>These are the first {most} times: choose a later first day for more.</p>}
      {chosen.length > 0 && chosen.length === dates.length && <CommandLine line={commands.backfill(workflow.project.name, workflow.name, from, dates.length)} />}
      {run && (
        <p className={css.progress} role="status">
          Started {run.done - run.errors.length} of {run.of}.
        </p>
      )}
      {run?.errors[0] && <Failure error={run.errors[0].error} />}
      <DialogFoot>
        <Button onClick={onClose}>{run ? "Close" : "Not now"}</Button>
        <Button look="main" disabled={chosen.length === 0 || running} onClick={() => void start()}>
          Start {chosen.length}
        </Button>
      </DialogFoot>
    </>
  );
}
