import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { ArrowLeft, ChevronLeft, ChevronRight, CircleStop, Pause, RotateCcw } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";
import type { Attempt } from "../api/client";
import { attemptQuery, noticesQuery, sessionAttemptsQuery } from "../api/queries";
import { KillDialog, PauseAttempt, RetryDialog, UnpauseAttempt, useActions } from "../attempt/actions";
import { Cause } from "../attempt/cause";
import { useHistory } from "../attempt/history";
import { neighbourOf, sessionsBeside } from "../attempt/neighbours";
import { TaskPanel } from "../attempt/panel";
import { Slider, usePast } from "../attempt/slider";
import { Timeline } from "../attempt/timeline";
import { useFollower } from "../attempt/useFollower";
import { Values } from "../attempt/values";
import { GraphPane } from "../graph/pane";
import { count, findTask, firstFailure, isCleaning, isOver, type Outline, rootsOf, type Try, triesOf } from "../live/outline";
import { Button } from "../parts/button";
import { Failure, Loading, Skeleton } from "../parts/feedback";
import { Found } from "../parts/found";
import { Mark } from "../parts/mark";
import { Paused } from "../parts/pause";
import { lookOf, wordOf } from "../parts/state";
import { Duration, SessionTime, Time } from "../parts/time";
import { useKeys } from "../shell/keys";
import { useTitle } from "../shell/title";
import css from "./attempt.module.css";

const route = getRouteApi("/attempts/$id");

export default function AttemptPage() {
  const { id } = route.useParams();
  const query = useQuery(attemptQuery(id));
  if (!query.data) {
    return (
      <div className={css.page}>
        <Loading query={query} rows={8} />
      </div>
    );
  }
  return <Page key={id} attempt={query.data} />;
}

function Page({ attempt }: { attempt: Attempt }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const followed = useFollower(attempt.id);
  const { outline, status, error } = followed;
  const [side, setSide] = useState<"tasks" | "task">(search.task ? "task" : "tasks");
  const failure = useMemo(() => (attempt.done && !attempt.success ? firstFailure(outline) : null), [attempt, outline, outline.version]);
  const [sliding, setSliding] = useState(false);
  const [counting, setCounting] = useState(false);
  const wantHistory = useCallback(() => setCounting(true), []);
  const several = useMemo(() => status === "over" && hasTries(outline), [status, outline, outline.version]);
  const history = useHistory(attempt.id, followed, sliding || counting || several || search.at !== undefined);
  const { past, index, then } = usePast(history, followed.round, outline, search.at);
  const tries = useMemo(() => (history.changes && outline.tasks.size <= mostTried ? triesOf(history.changes) : noTries), [history.changes, outline.tasks.size]);
  const at = search.at !== undefined && past ? (past.history[index]?.at ?? null) : null;
  const graph = search.view === "graph";
  const selected = findTask(outline, search.task) ?? failure ?? null;
  useTitle(`${wordOf(attempt.status)} · ${attempt.project.name}/${attempt.workflow.name} ${attempt.sessionTime.slice(0, 10)}`, lookOf(attempt.status));
  const select = (task: number, tab?: string) => {
    setSide("task");
    void navigate({ search: (s) => ({ ...s, task: String(task), lines: undefined, q: undefined, ...(tab ? { tab } : {}) }), replace: true });
  };
  useFailureKeys(outline, selected?.id, select);
  // The cause of a failure and the other attempts of the session are above the tasks: all are shown together, so that nothing moves.
  const others = useQuery(sessionAttemptsQuery(attempt.sessionId));
  const comes = status !== "loading" && !others.isPending;
  const itsLog = selected !== null && selected.id === failure?.id && (search.tab ?? "log") === "log";
  return (
    <div className={css.page} data-side={side}>
      <Head attempt={attempt} outline={outline} status={status} others={comes ? others.data?.attempts : undefined} />
      {comes && failure && <Cause attempt={attempt} outline={outline} task={failure} seen={{ beside: itsLog, below: itsLog && side === "task" }} onLog={() => select(failure.id, "log")} />}
      {status === "lost" && <Failure error={error} />}
      {attempt.outputs && <Outputs values={attempt.outputs} />}
      {comes ? (
        <>
          <nav className={css.sides} aria-label="Sections">
            <button type="button" aria-pressed={side === "tasks"} onClick={() => setSide("tasks")}>
              Tasks
            </button>
            <button type="button" aria-pressed={side === "task"} disabled={!selected} onClick={() => setSide("task")}>
              Task
            </button>
          </nav>
          <div className={css.split} data-single={!selected || undefined}>
            <div className={css.left}>
              {graph ? (
                <GraphPane outline={then} selected={selected?.id ?? null} onSelect={select} views={<Views />} />
              ) : (
                <Timeline attempt={attempt} outline={then} whole={outline} at={at} live={status === "live"} tries={tries} selected={selected?.id ?? null} onSelect={select} views={<Views />} />
              )}
              <Slider
                attempt={attempt}
                outline={outline}
                past={past}
                index={index}
                at={search.at}
                history={history}
                open={sliding}
                setOpen={setSliding}
                move={(seq) => void navigate({ search: (s) => ({ ...s, at: seq }), replace: true })}
              />
            </div>
            {selected && <TaskPanel key={selected.id} attempt={attempt} outline={outline} task={selected} said={selected.id === failure?.id} history={history} wantHistory={wantHistory} />}
          </div>
        </>
      ) : (
        <Skeleton rows={10} height={28} />
      )}
    </div>
  );
}

/** The outputs of the attempt. */
const Outputs = ({ values }: { values: Record<string, unknown> }) => (
  <section className={css.outputs} aria-label="Outputs">
    <Values values={values} none="No outputs." />
  </section>
);

/** Attempts with more tasks than this have no bar for each run of a task, which requires their whole history. */
const mostTried = 2_000;
const noTries: ReadonlyMap<number, Try[]> = new Map();

/** Reports whether tasks ran several times, and whether there are few enough to draw each run. */
function hasTries(outline: Outline): boolean {
  return outline.tasks.size <= mostTried && [...outline.tasks.values()].some((task) => task.runs > 1);
}

/** The switch between timeline and graph. */
function Views() {
  const graph = route.useSearch().view === "graph";
  const navigate = route.useNavigate();
  const show = (view: string | undefined) => void navigate({ search: (s) => ({ ...s, view }), replace: true });
  useKeys([{ keys: "v", does: graph ? "Show the timeline" : "Show the graph", run: () => show(graph ? undefined : "graph") }]);
  return (
    <span className={css.views} role="group" aria-label="View of the tasks">
      <button type="button" aria-pressed={!graph} onClick={() => show(undefined)}>
        Timeline
      </button>
      <button type="button" aria-pressed={graph} onClick={() => show("graph")}>
        Graph
      </button>
    </span>
  );
}

/** `e` selects the next failed task. */
function useFailureKeys(outline: Outline, selected: number | undefined, select: (task: number) => void) {
  useKeys([
    {
      keys: "e",
      does: "Next failed task",
      run: () => {
        const failed = [...outline.tasks.values()].filter((t) => t.state === "error");
        const next = failed.find((t) => t.id > (selected ?? 0)) ?? failed[0];
        if (next) select(next.id);
      },
    },
  ]);
}

function Head({ attempt, outline, status, others = [] }: { attempt: Attempt; outline: Outline; status: string; others: Attempt[] | undefined }) {
  const cleaning = useMemo(() => isCleaning(outline), [outline, outline.version]);
  const { mayRetry, mayPause, mayKill } = useActions(attempt, cleaning);
  const [dialog, setDialog] = useState<"retry" | "pause" | "kill" | null>(null);
  const counts = useMemo(() => count(outline), [outline, outline.version]);
  useKeys([
    ...(mayRetry ? [{ keys: "r", does: "Retry failed tasks", run: () => setDialog("retry") }] : []),
    ...(mayKill ? [{ keys: "x", does: "Kill the attempt", run: () => setDialog("kill") }] : []),
  ]);
  return (
    <header className={css.head}>
      <div className={css.title}>
        <Link to="/projects/$id/$workflow" params={{ id: attempt.project.id, workflow: attempt.workflow.name }} className={css.back} aria-label="All sessions of this workflow">
          <ArrowLeft size={16} aria-hidden />
        </Link>
        <h1>
          <Link to="/projects/$id" params={{ id: attempt.project.id }} className={css.project}>
            {attempt.project.name}
          </Link>
          <span className={css.slash}>/</span>
          {attempt.workflow.name}
        </h1>
        <Session attempt={attempt} />
      </div>
      <div className={css.facts}>
        <Mark state={attempt.status === "success" && counts.ignored > 0 ? "ignored" : attempt.status} word={counts.ignored === 0 || attempt.status !== "success"} />
        {attempt.status === "success" && counts.ignored > 0 && (
          <span className={css.fact}>
            succeeded, with {counts.ignored} ignored {counts.ignored === 1 ? "error" : "errors"}
          </span>
        )}
        <span className={css.fact}>
          {attempt.done ? "after " : "for "}
          <Duration {...spanOf(attempt, outline)} />
        </span>
        {counts.total > 0 && (
          <span className={css.fact}>
            {counts.done} of {counts.total} tasks
          </span>
        )}
        {!attempt.done && outline.tasks.get(1)?.standing === "waits" && <span className={css.fact}>waiting for its turn</span>}
        {attempt.cancelRequested && !attempt.done && <span className={css.fact}>being killed</span>}
        {attempt.startsAt && !attempt.done && Date.parse(attempt.startsAt) > Date.now() && (
          <span className={css.fact}>
            starts <Time at={Date.parse(attempt.startsAt)} form="full" />
          </span>
        )}
        {Object.entries(attempt.labels ?? {}).map(([name, value]) => (
          <span key={name} className={css.fact}>
            <Found word={`label:${name}=${value}`}>
              {name}={value}
            </Found>
          </span>
        ))}
        {attempt.paused && !attempt.done && (
          <span className={css.fact} title={attempt.paused.reason}>
            <Paused paused={attempt.paused} />
          </span>
        )}
        {attempt.done && <Undelivered attempt={attempt} />}
        <Attempts attempt={attempt} others={others} />
        {status === "live" && <span className={css.live}>live</span>}
        <Announce counts={counts} live={status === "live"} />
      </div>
      <div className={css.actions}>
        {mayRetry && (
          <Button look="main" onClick={() => setDialog("retry")}>
            <RotateCcw size={14} aria-hidden /> Retry failed
          </Button>
        )}
        {mayPause && attempt.paused && <UnpauseAttempt attempt={attempt} />}
        {mayPause && !attempt.paused && (
          <Button onClick={() => setDialog("pause")}>
            <Pause size={14} aria-hidden /> Pause
          </Button>
        )}
        {mayKill && (
          <Button onClick={() => setDialog("kill")}>
            <CircleStop size={14} aria-hidden /> Kill
          </Button>
        )}
      </div>
      {dialog === "retry" && <RetryDialog attempt={attempt.id} onClose={() => setDialog(null)} />}
      {dialog === "pause" && <PauseAttempt attempt={attempt} onClose={() => setDialog(null)} />}
      {dialog === "kill" && <KillDialog attempt={attempt} running={counts.running} onClose={() => setDialog(null)} />}
    </header>
  );
}

/** How many notifications about the attempt are not delivered, with the error of the first. */
function Undelivered({ attempt }: { attempt: Attempt }) {
  const tried = (useQuery(noticesQuery(attempt.id)).data ?? []).filter((n) => n.error !== null);
  const [first] = tried;
  if (!first) return null;
  const lost = tried.every((n) => n.givenUpAt !== null);
  return (
    <span className={css.fact} title={first.error ?? ""}>
      {tried.length === 1 ? "a notification was" : `${tried.length} notifications were`} not delivered{lost ? " and given up" : " yet"}
    </span>
  );
}

/** The session, with links to the previous and next sessions. */
function Session({ attempt }: { attempt: Attempt }) {
  const navigate = route.useNavigate();
  const go = useMutation({
    meta: { reads: true },
    mutationFn: (step: 1 | -1) => neighbourOf(Date.parse(attempt.sessionTime), step, sessionsBeside(attempt)),
    onSuccess: (found) => found && void navigate({ params: { id: found.id }, search: (s) => (s.view ? { view: s.view } : {}) }),
  });
  useKeys([
    { keys: "[", does: "Previous session", run: () => go.mutate(-1) },
    { keys: "]", does: "Next session", run: () => go.mutate(1) },
  ]);
  const none = go.data === null && `No ${go.variables === 1 ? "later" : "earlier"} session was found.`;
  return (
    <span className={css.when}>
      <SessionTime text={attempt.sessionTime} />
      <button type="button" className={css.step} aria-label="Previous session" title="Previous session ([)" disabled={go.isPending} onClick={() => go.mutate(-1)}>
        <ChevronLeft size={15} aria-hidden />
      </button>
      <button type="button" className={css.step} aria-label="Next session" title="Next session (])" disabled={go.isPending} onClick={() => go.mutate(1)}>
        <ChevronRight size={15} aria-hidden />
      </button>
      <small role="status">{go.error ? go.error.message : none}</small>
    </span>
  );
}

/** The start and end of an attempt: its tasks have milliseconds, the attempt itself only seconds. */
function spanOf(attempt: Attempt, outline: Outline) {
  let begin = Date.parse(attempt.createdAt);
  let end = attempt.finishedAt ? Date.parse(attempt.finishedAt) : 0;
  for (const t of rootsOf(outline)) {
    if (!isOver(t.state)) continue;
    const first = [...outline.tasks.values()].reduce((least, c) => (c.started > 0 ? Math.min(least, c.started) : least), Infinity);
    begin = Number.isFinite(first) ? first : begin;
    end = t.changed;
  }
  return { begin, end };
}

/** How often screen readers announce the progress, in milliseconds. */
const announcing = 10_000;

function Announce({ counts, live }: { counts: { done: number; total: number }; live: boolean }) {
  const [text, setText] = useState("");
  const { done, total } = counts;
  useEffect(() => {
    if (!live) return;
    const timer = setTimeout(() => setText(`${done} of ${total} tasks done`), announcing);
    return () => clearTimeout(timer);
  }, [done, total, live]);
  return (
    <span className={css.unseen} role="status">
      {text}
    </span>
  );
}

/** The attempts of the same session, if there are several. */
function Attempts({ attempt, others }: { attempt: Attempt; others: Attempt[] }) {
  const all = [...others].sort((a, b) => a.index - b.index);
  if (all.length < 2) return null;
  return (
    <nav className={css.attempts} aria-label="Attempts of this session">
      {all.map((a) => (
        <Link key={a.id} to="/attempts/$id" params={{ id: a.id }} aria-current={a.id === attempt.id ? "page" : undefined}>
          <Mark state={a.ignoredErrors ? "ignored" : a.status} size={11} />
          {a.index}
        </Link>
      ))}
    </nav>
  );
}
