import { Tabs } from "@base-ui/react/tabs";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { RotateCcw } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import type { Attempt, Schemas } from "../api/client";
import { taskQuery } from "../api/queries";
import { useRight } from "../api/session";
import { isOver, type Outline, shownName, shownState, type Task, triesOf } from "../live/outline";
import { LogView } from "../log/view";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { exitWords } from "../parts/exit";
import { Empty, Loading } from "../parts/feedback";
import { Mark } from "../parts/mark";
import { Duration, Time } from "../parts/time";
import type { Recorded } from "./history";
import { PartDialog } from "./part";
import { Standing } from "./standing";
import { Values } from "./values";
import css from "./panel.module.css";

const route = getRouteApi("/attempts/$id");
const tabs = ["log", "in", "out", "tries"] as const;
type Tab = (typeof tabs)[number];
const names: Record<Tab, string> = { log: "Log", in: "Input", out: "Output", tries: "Tries" };

/** How often a task is asked for again that waits in the line of a pool, in milliseconds. */
const inLine = 5_000;

type PanelProps = { attempt: Attempt; outline: Outline; task: Task; said: boolean; history: Recorded; wantHistory: () => void };

/** One task: its log, what it saw, what it left, and how often it was run. `said`: its error is shown above. */
export function TaskPanel({ attempt, outline, task, said, history, wantHistory }: PanelProps) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const mayRerun = useRight("write") && attempt.done && isNamed(task);
  const [asked, setAsked] = useState(false);
  const tab = tabs.find((t) => t === search.tab) ?? "log";
  const query = useQuery({ ...taskQuery(attempt.id, task.id, `${shownState(task)} ${task.runs}`), refetchInterval: task.standing === "waits" ? inLine : false });
  const set = (change: Record<string, string | undefined>) => void navigate({ search: (s) => ({ ...s, task: s.task ?? String(task.id), ...change }), replace: true });
  const message = outline.errors.get(task.id) ?? messageOf(query.data?.task.error);
  return (
    <section className={css.panel} aria-label="The task">
      <header className={css.head}>
        <Mark state={shownState(task)} size={15} />
        <h2 title={task.full}>{shownName(task.full)}</h2>
        {task.started > 0 && !task.resumed && (
          <span className={css.took}>
            <Duration begin={task.started} end={isOver(task.state) ? task.changed : 0} />
          </span>
        )}
        {mayRerun && (
          <Button onClick={() => setAsked(true)}>
            <RotateCcw size={14} aria-hidden /> Run again
          </Button>
        )}
      </header>
      {asked && <PartDialog attempt={attempt} task={task} onClose={() => setAsked(false)} />}
      {query.data && <Standing attempt={attempt} task={task} detail={query.data.task} />}
      {message && !said && (
        <p className={css.message} data-ignored={task.standing === "ignored" || undefined}>
          {message}
          <small>{exitWords(message)}</small>
        </p>
      )}
      <Tabs.Root value={tab} onValueChange={(t) => set({ tab: t as string })} className={css.root}>
        <Tabs.List className={css.tabs}>
          {tabs.map((t) => (
            <Tabs.Tab key={t} value={t} className={css.tab}>
              {names[t]}
              {t === "tries" && task.runs > 1 && <span className={css.count}>{task.runs}</span>}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="log" className={css.body} tabIndex={-1}>
          {query.data ? <Log attempt={attempt} task={task} detail={query.data} search={search} set={set} /> : <Loading query={query} rows={6} height={20} />}
        </Tabs.Panel>
        <Tabs.Panel value="in" className={css.scroll}>
          {query.data ? <In detail={query.data} /> : <Loading query={query} />}
        </Tabs.Panel>
        <Tabs.Panel value="out" className={css.scroll}>
          {query.data ? <Out detail={query.data} /> : <Loading query={query} />}
        </Tabs.Panel>
        <Tabs.Panel value="tries" className={css.scroll}>
          <Tries attempt={attempt} task={task} history={history} want={wantHistory} />
        </Tabs.Panel>
      </Tabs.Root>
    </section>
  );
}

/** Whether a retry can name a task: not the workflow itself, nor what its failure or its end has made. */
const isNamed = (task: Task) => task.parent !== 0 && !/\^(error|cancel|finally|failure-alert|sla)/.test(task.full);

type Detail = Schemas["TaskDetail"];
const messageOf = (error: unknown): string | undefined =>
  typeof error === "object" && error !== null && "message" in error && typeof error.message === "string" ? error.message : undefined;

type LogProps = { attempt: Attempt; task: Task; detail: Detail; search: { lines?: string; q?: string }; set: (change: Record<string, string | undefined>) => void };

function Log({ attempt, task, detail, search, set }: LogProps) {
  const files = useMemo(
    () => detail.logs.map((f) => ({ name: f.fileName, heading: `next run, started ${f.fileTime.replace("T", " ").replace("Z", " UTC")}` })),
    [detail.logs],
  );
  return (
    <>
      <LogView
        attempt={attempt.id}
        files={files}
        done={attempt.done}
        growing={!attempt.done && !isOver(task.state)}
        failed={task.state === "error"}
        lines={search.lines}
        onLines={(lines) => set({ lines })}
        query={search.q}
        onQuery={(q) => set({ q: q || undefined })}
      />
      {files.length > 0 && (
        <footer className={css.foot}>
          <CommandLine line={commands.log(attempt.id, task.full)} />
        </footer>
      )}
    </>
  );
}

function In({ detail }: { detail: Detail }) {
  return (
    <>
      <h3 className={css.part}>As written</h3>
      <Values values={detail.task.config} none="The task sets no parameters." />
      <h3 className={css.part}>All parameters</h3>
      {detail.params === null ? <Empty>The task has not started, or its parameters exceed 2 MB.</Empty> : <Values values={detail.params} none="The task has no parameters." />}
    </>
  );
}

function Out({ detail }: { detail: Detail }) {
  const { exportParams, storeParams } = detail.task;
  return (
    <>
      <h3 className={css.part}>Stored for later tasks</h3>
      <Values values={storeParams} none="The task stored nothing." />
      <h3 className={css.part}>Exported to subtasks</h3>
      <Values values={exportParams} none="The task exports nothing." />
    </>
  );
}

type TriesProps = { attempt: Attempt; task: Task; history: Recorded; want: () => void };

function Tries({ attempt, task, history, want }: TriesProps) {
  useEffect(want, [want]);
  const tries = useMemo(() => history.changes && (triesOf(history.changes).get(task.id) ?? []), [history.changes, task.id]);
  if (!tries) return <Loading query={history} />;
  if (tries.length === 0) return <Empty>{task.resumed ? "This task succeeded in an earlier attempt and did not run again." : "This task has not run."}</Empty>;
  return (
    <ol className={css.tries}>
      {tries.map((t, i) => (
        <li key={t.begin}>
          <Mark state={t.end === 0 ? task.state : t.state} word />
          <span>run {i + 1}</span>
          <span>
            <Time at={t.begin} of={attempt.sessionTime} form="full" />
          </span>
          <span className={css.took}>
            <Duration begin={t.begin} end={t.end} />
          </span>
        </li>
      ))}
    </ol>
  );
}
