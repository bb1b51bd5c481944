import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { answered, client, pathId } from "../api/client";
import { useRight } from "../api/session";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Dialog, DialogFoot } from "../parts/dialog";
import { Empty, Failure, Loading } from "../parts/feedback";
import { lookOf, wordOf } from "../parts/state";
import { Distance, SessionTime, Time, usePlace } from "../parts/time";
import { formatTime, readOffsetTime } from "../parts/zone";
import { utcTime } from "./params";
import { datesQuery, type Schedule, upcomingQuery } from "./queries";
import css from "./schedule.module.css";

const day = 86_400_000;

/** The next times of a schedule, and the results of the past ones. */
export function SchedulePanel({ schedule }: { schedule: Schedule }) {
  const mayWrite = useRight("write");
  const [skipping, setSkipping] = useState(false);
  return (
    <div className={css.panel}>
      <section aria-label="Next sessions">
        <header className={css.head}>
          <h2>Next sessions</h2>
          {mayWrite && schedule.disabledAt === null && <Button onClick={() => setSkipping(true)}>Skip…</Button>}
        </header>
        {schedule.disabledAt === null ? (
          <Upcoming schedule={schedule} />
        ) : (
          <Empty>
            The schedule has been disabled since <Time at={Date.parse(schedule.disabledAt)} />.
          </Empty>
        )}
      </section>
      <section aria-label="Last year">
        <header className={css.head}>
          <h2>Last year</h2>
        </header>
        <Year schedule={schedule} />
      </section>
      {skipping && <SkipDialog schedule={schedule} onClose={() => setSkipping(false)} />}
    </div>
  );
}

function Upcoming({ schedule }: { schedule: Schedule }) {
  const query = useQuery(upcomingQuery(schedule.id, 10));
  if (!query.data) return <Loading query={query} rows={10} height={32} />;
  return (
    <table className={css.times}>
      <thead>
        <tr>
          <th>Session</th>
          <th>Starts</th>
          <th>UTC</th>
          <th />
        </tr>
      </thead>
      <tbody>
        {query.data.times.map((t) => (
          <tr key={t.sessionTime}>
            <td>
              <SessionTime text={t.sessionTime} />
            </td>
            <td>
              <Time at={Date.parse(t.runTime)} of={t.sessionTime} />
            </td>
            <td>{formatTime(Date.parse(t.runTime), "UTC", "minute")}</td>
            <td>
              <Distance at={Date.parse(t.runTime)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A square for each time of the last year, up to a limit. */
function Year({ schedule }: { schedule: Schedule }) {
  const [from] = useState(() => utcTime(Date.now() - 365 * day));
  const query = useQuery(datesQuery(schedule.id, from, null, 1000));
  const place = usePlace(schedule.nextScheduleTime);
  if (!query.data) return <Loading query={query} rows={3} height={32} />;
  const dates = query.data.dates.filter((d) => !d.ahead);
  if (dates.length === 0) return <Empty>The schedule has had no sessions yet.</Empty>;
  const counts = new Map<string, number>();
  for (const d of dates) counts.set(d.state, (counts.get(d.state) ?? 0) + 1);
  return (
    <>
      <p className={css.counts}>
        {[...counts].map(([state, n]) => `${n.toLocaleString("en")} ${state === "new" ? "without a session" : wordOf(state)}`).join(" · ")}
      </p>
      <ol className={css.year}>
        {dates.map((d) => {
          const said = `${formatTime(readOffsetTime(d.sessionTime).at, place, "minute")}: ${d.state === "new" ? "no session" : wordOf(d.state)}`;
          return (
            <li key={d.sessionTime} data-look={d.state === "new" ? "none" : lookOf(d.state)} title={said}>
              {d.attemptId === null ? <span role="img" aria-label={said} /> : <Link to="/attempts/$id" params={{ id: d.attemptId }} aria-label={said} />}
            </li>
          );
        })}
      </ol>
      {dates.length === 1000 && <p className={css.counts}>These are the first 1,000 sessions since {from.slice(0, 10)}.</p>}
    </>
  );
}

/** Asks how many of the next sessions to skip. */
function SkipDialog({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  const [count, setCount] = useState(1);
  const queries = useQueryClient();
  const next = useQuery(upcomingQuery(schedule.id, 11));
  const skip = useMutation({
    mutationFn: () =>
      answered(client.POST("/api/schedules/{id}/skip", { params: { path: { id: pathId(schedule.id) } }, body: { fromTime: schedule.nextScheduleTime, count, dryRun: false } })),
    onSuccess: () => {
      void queries.invalidateQueries();
      onClose();
    },
  });
  const skipped = next.data?.times.slice(0, count) ?? [];
  const then = next.data?.times[count];
  return (
    <Dialog open onClose={onClose} title={`Skip sessions of ${schedule.workflow.name}`}>
      <label className={css.count}>
        Number of sessions
        <input type="number" min={1} max={10} value={count} onChange={(e) => setCount(Math.min(10, Math.max(1, Number(e.target.value) || 1)))} />
      </label>
      {next.data ? (
        <ul className={css.skipped}>
          {skipped.map((t) => (
            <li key={t.sessionTime}>
              <s>
                <SessionTime text={t.sessionTime} />
              </s>
            </li>
          ))}
          {then && (
            <li>
              Next is <SessionTime text={then.sessionTime} />
            </li>
          )}
        </ul>
      ) : (
        <Loading query={next} rows={2} height={28} />
      )}
      <CommandLine line={commands.skip(schedule.id, count)} />
      {skip.error && <Failure error={skip.error} />}
      <DialogFoot>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="main" disabled={skip.isPending || !next.data} onClick={() => skip.mutate()}>
          Skip {count}
        </Button>
      </DialogFoot>
    </Dialog>
  );
}
