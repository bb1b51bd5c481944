import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { RotateCcw, ScrollText } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Overview } from "../api/client";
import { causeQuery, overviewQuery, projectsQuery } from "../api/queries";
import { useRight } from "../api/session";
import { RetryDialog } from "../attempt/actions";
import { shownName } from "../live/outline";
import { Button, buttonClass } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Empty, Failure, Loading } from "../parts/feedback";
import { LastLines } from "../parts/lastlines";
import { Mark } from "../parts/mark";
import { Distance, Duration, SessionTime, Time } from "../parts/time";
import { formatDuration } from "../parts/zone";
import { useKeys } from "../shell/keys";
import { choose, useSetting } from "../shell/settings";
import { useTitle } from "../shell/title";
import { type FailedGroup, groupFailures, headline, workflowName } from "./headline";
import css from "./home.module.css";
import list from "./list.module.css";

const day = 86_400_000;
type Part = "failed" | "late" | "running" | "next";

export default function Home() {
  const kept = useSetting("seen");
  const seen = kept === null ? null : Number(kept);
  const query = useQuery(overviewQuery(seen));
  const [part, setPart] = useState<Part>("failed");
  const data = query.data;
  useTitle(data ? headline(data).replace(/\.$/, "") : "Home", data && data.failed.rows.length > 0 ? "failed" : null);
  useKeys([{ keys: "m", does: "Mark the failures as seen", run: () => data && choose("seen", String(data.at)) }]);
  if (!data) return <div className={css.page}>{query.error ? <Loading query={query} /> : <Placeholder />}</div>;
  return (
    <div className={css.page} data-part={part}>
      <Head data={data} seen={seen} />
      {query.error && <Failure error={query.error} retry={() => void query.refetch()} />}
      <Parts data={data} part={part} choose={setPart} />
      <div className={css.column}>
        <Failed data={data} seen={seen} />
        <Running data={data} />
      </div>
      <div className={css.column}>
        <Late data={data} />
        <Next data={data} />
      </div>
    </div>
  );
}

function Placeholder() {
  return (
    <div className={list.panel}>
      <Loading query={{ error: null, refetch: () => {} }} rows={6} />
    </div>
  );
}

function Head({ data, seen }: { data: Overview; seen: number | null }) {
  return (
    <header className={css.head}>
      <h1>{headline(data)}</h1>
      <p>
        Failures since <Time at={seen ?? data.at - day} form="short" />
        {data.running.total > 0 && ` · ${data.running.total} running`}
        {data.next.rows[0] && (
          <>
            {" · next "}
            {workflowName(data.next.rows[0])} <Distance at={Date.parse(data.next.rows[0].nextRunTime)} />
          </>
        )}
      </p>
    </header>
  );
}

function Parts({ data, part, choose: to }: { data: Overview; part: Part; choose: (p: Part) => void }) {
  const parts: [Part, string, number][] = [
    ["failed", "Failed", data.failed.rows.length],
    ["late", "Late", data.late.length],
    ["running", "Running", data.running.total],
    ["next", "Next", data.next.total],
  ];
  return (
    <nav className={css.parts} aria-label="Sections">
      {parts.map(([p, name, n]) => (
        <button key={p} type="button" aria-pressed={p === part} onClick={() => to(p)}>
          {name} <b>{n}</b>
        </button>
      ))}
    </nav>
  );
}

function Panel({ part, title, total, tools, children }: { part: Part; title: string; total: number; tools?: ReactNode; children: ReactNode }) {
  return (
    <section className={`${list.panel} ${css.panel}`} data-part={part} aria-label={title}>
      <header className={css.panelHead}>
        <h2>{title}</h2>
        <span className={css.count}>{total}</span>
        <span className={css.grow} />
        {tools}
      </header>
      {children}
    </section>
  );
}

function Failed({ data, seen }: { data: Overview; seen: number | null }) {
  const groups = groupFailures(data.failed.rows);
  const [retrying, setRetrying] = useState<string | null>(null);
  useRowKeys(groups, setRetrying);
  const tools = groups.length > 0 && (
    <Button look="quiet" onClick={() => choose("seen", String(data.at))}>
      Mark as seen
    </Button>
  );
  return (
    <Panel part="failed" title="Failed" total={data.failed.rows.length} tools={tools}>
      {groups.length === 0 ? <NoFailures seen={seen} nothing={data.running.total + data.next.total + data.late.length === 0} /> : null}
      <ul>
        {groups.map((g, i) => (
          <FailedItem key={g.newest.attempt.id} group={g} told={i < mostTold} onRetry={() => setRetrying(g.newest.attempt.id)} />
        ))}
      </ul>
      {!data.failed.all && <p className={css.foot}>Only the newest attempts were checked. The list of sessions has all of them.</p>}
      {retrying && <RetryDialog attempt={retrying} onClose={() => setRetrying(null)} />}
    </Panel>
  );
}

/** `l` and `r` apply to the failure whose row has the focus. */
function useRowKeys(groups: FailedGroup[], retry: (attempt: string) => void) {
  const navigate = useNavigate();
  const mayWrite = useRight("write");
  const focused = () => {
    const id = document.activeElement?.closest<HTMLElement>("[data-attempt]")?.dataset.attempt;
    return groups.find((g) => g.newest.attempt.id === id)?.newest;
  };
  const log = () => {
    const row = focused();
    if (row) void navigate({ to: "/attempts/$id", params: { id: row.attempt.id }, search: logOf(row.task) });
  };
  const again = () => {
    const row = focused();
    if (row) retry(row.attempt.id);
  };
  useKeys([
    { keys: "l", does: "Show the log of the focused failure", focused: true, run: log },
    ...(mayWrite ? [{ keys: "r", does: "Retry the focused failure", focused: true, run: again }] : []),
  ]);
}

/** The search parameters for the log of a task; empty for an attempt without a failed task. */
const logOf = (task: string | null) => (task ? { task, tab: "log" } : {});

/** The number of failures whose last log lines are shown: each of them costs one request. */
const mostTold = 5;
const linesTold = 3;

function FailedItem({ group, told, onRetry }: { group: FailedGroup; told: boolean; onRetry: () => void }) {
  const { attempt, task, message } = group.newest;
  const mayWrite = useRight("write");
  const cause = useQuery({ ...causeQuery(attempt.id), enabled: told });
  const search = logOf(task);
  return (
    <li className={css.failed} data-attempt={attempt.id}>
      <span className={css.icon}>
        <Mark state="error" size={16} />
      </span>
      <Link to="/attempts/$id" params={{ id: attempt.id }} search={search} className={css.name} data-row>
        {workflowName(attempt)}
        {group.times > 1 && <span className={css.times}>×{group.times}</span>}
      </Link>
      <span className={css.when}>
        <SessionTime text={attempt.sessionTime} />
      </span>
      <p className={css.message}>{message ?? "No error message."}</p>
      {told && (cause.isPending ? <span className={css.lines} /> : cause.data && <LastLines lines={cause.data.lines} most={linesTold} className={css.lines} />)}
      <p className={css.where}>
        {task && <code title={task}>{shownName(task)}</code>}
        <span>
          <Distance at={attempt.finished} />, after <Duration begin={attempt.created} end={attempt.finished} />
        </span>
      </p>
      <span className={css.actions}>
        <Link to="/attempts/$id" params={{ id: attempt.id }} search={search} className={buttonClass()}>
          <ScrollText size={14} aria-hidden /> Log
        </Link>
        {mayWrite && (
          <Button onClick={onRetry}>
            <RotateCcw size={14} aria-hidden /> Retry
          </Button>
        )}
      </span>
    </li>
  );
}

function NoFailures({ seen, nothing }: { seen: number | null; nothing: boolean }) {
  const projects = useQuery({ ...projectsQuery, enabled: nothing });
  if (nothing && projects.data?.projects.length === 0) return <FirstSteps />;
  const again = seen !== null && (
    <Button look="quiet" onClick={() => choose("seen", null)}>
      Show the last day again
    </Button>
  );
  return (
    <Empty calm action={again}>
      Nothing failed {seen === null ? "in the last day" : <>since <Time at={seen} form="short" /></>}.
    </Empty>
  );
}

function FirstSteps() {
  return (
    <div className={css.first}>
      <p>This server has no projects yet. Three commands create a project, push it and run it:</p>
      <CommandLine line={commands.init()} />
      <CommandLine line={`${commands.push("hello")} --project hello/`} />
      <CommandLine line={commands.start("hello", "hello")} />
    </div>
  );
}

function Late({ data }: { data: Overview }) {
  return (
    <Panel part="late" title="Late" total={data.late.length}>
      {data.late.length === 0 && <Empty calm>Nothing is late.</Empty>}
      <ul>
        {data.late.map((l) => {
          const of = l.attempt ?? l.schedule!;
          const row = (
            <>
              <Mark state="retry_waiting" size={15} />
              <span className={list.name}>{workflowName(of)}</span>
              <span className={css.rowNote}>
                <Why late={l} />
              </span>
            </>
          );
          return (
            <li key={`${l.kind}${l.attempt?.id ?? l.schedule?.id}`}>
              {l.attempt ? (
                <Link to="/attempts/$id" params={{ id: l.attempt.id }} className={`${list.row} ${css.row}`} data-row>
                  {row}
                </Link>
              ) : (
                <Link to="/projects/$id" params={{ id: of.project.id }} className={`${list.row} ${css.row}`} data-row>
                  {row}
                </Link>
              )}
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

function Why({ late }: { late: Overview["late"][number] }) {
  switch (late.kind) {
    case "due":
      return (
        <>
          due <Time at={late.since} form="short" />, not started
        </>
      );
    case "slow":
      return (
        <>
          <Duration begin={late.attempt?.created ?? late.since} end={0} />, usually {formatDuration(late.usual)}
        </>
      );
    case "sla":
      return (
        <>
          must finish by <Time at={late.since} form="short" />, <Distance at={late.since} />
        </>
      );
  }
}

function Running({ data }: { data: Overview }) {
  return (
    <Panel part="running" title="Running" total={data.running.total}>
      {data.running.rows.length === 0 && <Empty calm>Nothing is running.</Empty>}
      <ul>
        {data.running.rows.map(({ attempt, tasks, done }) => (
          <li key={attempt.id}>
            <Link to="/attempts/$id" params={{ id: attempt.id }} className={`${list.row} ${css.row}`} data-row>
              <Mark state="running" size={15} />
              <span className={list.name}>{workflowName(attempt)}</span>
              <span className={css.rowTime}>
                <SessionTime text={attempt.sessionTime} />
              </span>
              {tasks > 0 && <progress className={css.progress} max={tasks} value={done} aria-label={`${done} of ${tasks} tasks done`} />}
              <span className={css.rowNote}>
                {tasks > 0 && `${done}/${tasks} · `}
                <Duration begin={attempt.created} end={0} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {data.running.total > data.running.rows.length && (
        <Link to="/sessions" search={{ state: "running" }} className={css.foot}>
          Show all {data.running.total}
        </Link>
      )}
    </Panel>
  );
}

function Next({ data }: { data: Overview }) {
  return (
    <Panel part="next" title="Next" total={data.next.total}>
      {data.next.rows.length === 0 && <Empty>There are no scheduled sessions. Workflows with schedule: run automatically.</Empty>}
      <ul>
        {data.next.rows.map((s) => (
          <li key={s.id}>
            <Link to="/projects/$id" params={{ id: s.project.id }} className={`${list.row} ${css.row}`} data-row>
              <Mark state="ready" size={15} />
              <span className={list.name}>{workflowName(s)}</span>
              <span className={css.rowTime}>
                <Time at={Date.parse(s.nextRunTime)} of={s.nextScheduleTime} form="short" />
              </span>
              <span className={css.rowNote}>
                <Distance at={Date.parse(s.nextRunTime)} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
