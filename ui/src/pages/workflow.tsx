import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { CalendarPlus, CalendarX2, Play } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { answered, client, isMissing, pathId, type Schemas } from "../api/client";
import { causeQuery, comparisonQuery } from "../api/queries";
import { useRight } from "../api/session";
import { RetryDialog } from "../attempt/actions";
import { shownName } from "../live/outline";
import { Button, buttonClass } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Found } from "../parts/found";
import heading from "../parts/heading.module.css";
import { LastLines } from "../parts/lastlines";
import { Mark } from "../parts/mark";
import { standingOf } from "../parts/state";
import { Distance, Duration, SessionTime, Time } from "../parts/time";
import { useKeys } from "../shell/keys";
import { useTitle } from "../shell/title";
import { BackfillDialog } from "../workflow/backfill";
import { BackfillsPanel } from "../workflow/backfills";
import { GridView } from "../workflow/grid";
import { gridQuery, type Schedule, scheduleQuery, type Workflow, workflowOfQuery } from "../workflow/queries";
import { SchedulePanel } from "../workflow/schedule";
import { SourcePanel } from "../workflow/source";
import { StartDialog } from "../workflow/start";
import list from "./list.module.css";
import { Nearby } from "./nearby";
import css from "./workflow.module.css";

const tabs = [
  ["grid", "Grid"],
  ["schedule", "Schedule"],
  ["backfills", "Backfills"],
  ["source", "Source"],
] as const;

export default function WorkflowPage() {
  const { id, workflow: name } = useParams({ from: "/projects/$id/$workflow" });
  const query = useQuery(workflowOfQuery(id, name));
  useTitle(query.data ? `${query.data.project.name}/${name}` : name);
  if (!query.data) {
    return (
      <div className={isMissing(query.error) ? list.page : css.page}>
        <Loading query={query} rows={8} />
        {isMissing(query.error) && <Nearby project={id} workflow={name} />}
      </div>
    );
  }
  return <Shown workflow={query.data} />;
}

function Shown({ workflow }: { workflow: Workflow }) {
  const { tab = "grid", q = "" } = useSearch({ from: "/projects/$id/$workflow" });
  const navigate = useNavigate({ from: "/projects/$id/$workflow" });
  const schedule = useQuery(scheduleQuery(workflow.project.id, workflow.name));
  const [asking, setAsking] = useState<"start" | "backfill" | null>(null);
  const [shown, setShown] = useState<string | null>(null);
  const top = useQuery(gridQuery(workflow.id, null));
  const mayWrite = useRight("write");
  const choose = (to: string) => void navigate({ search: (before) => ({ ...before, tab: to === "grid" ? undefined : to }), replace: true });
  useKeys([
    ...(mayWrite ? [{ keys: "s", does: "Start this workflow", run: () => setAsking("start") }] : []),
    ...(mayWrite && schedule.data ? [{ keys: "b", does: "Backfill", run: () => setAsking("backfill") }] : []),
    ...tabs.map(([tab, says], i) => ({ keys: String(i + 1), does: `Show ${says.toLowerCase()}`, run: () => choose(tab) })),
  ]);
  const closeBackfill = (started: boolean) => {
    setAsking(null);
    if (started) choose("backfills");
  };
  const newest = top.data?.columns[0]?.id ?? null;
  return (
    <div className={css.page}>
      <Head workflow={workflow} schedule={schedule.data ?? null} ask={setAsking} />
      <div className={css.body} data-tab={tab}>
        <div className={list.panel}>
          <nav className={css.tabs} aria-label="Sections">
            {tabs.map(([t, says]) => (
              <button key={t} type="button" aria-pressed={t === tab} onClick={() => choose(t)}>
                {says}
              </button>
            ))}
            {tab === "grid" && (
              <input
                type="search"
                data-filter
                placeholder="Filter tasks"
                aria-label="Filter tasks"
                value={q}
                onChange={(e) => void navigate({ search: (before) => ({ ...before, q: e.target.value || undefined }), replace: true })}
              />
            )}
          </nav>
          {tab === "grid" &&
            (top.data?.columns.length === 0 ? (
              <Empty action={mayWrite ? <Button look="main" onClick={() => setAsking("start")}>Start</Button> : <CommandLine line={commands.start(workflow.project.name, workflow.name)} />}>This workflow has not run yet.</Empty>
            ) : (
              <GridView workflow={workflow} shown={shown ?? newest} show={setShown} filter={q} />
            ))}
          {tab === "schedule" && (schedule.data ? <SchedulePanel schedule={schedule.data} /> : schedule.data === null ? <NoSchedule /> : <Loading query={schedule} />)}
          {tab === "backfills" && <BackfillsPanel workflow={workflow} ask={mayWrite && schedule.data ? () => setAsking("backfill") : null} />}
          {tab === "source" && <SourcePanel workflow={workflow} />}
        </div>
        {tab === "grid" && (shown ?? newest) && <Summary attempt={(shown ?? newest)!} workflow={workflow} />}
      </div>
      {asking === "start" && <StartDialog workflow={workflow} schedule={schedule.data ?? null} onClose={() => setAsking(null)} />}
      {asking === "backfill" && schedule.data && <BackfillDialog workflow={workflow} schedule={schedule.data} onClose={closeBackfill} />}
    </div>
  );
}

const NoSchedule = () => (
  <Empty>
    This workflow has no <code>schedule:</code>. It runs only when you start it.
  </Empty>
);

function Head({ workflow, schedule, ask }: { workflow: Workflow; schedule: Schedule | null; ask: (what: "start" | "backfill") => void }) {
  const mayWrite = useRight("write");
  const queries = useQueryClient();
  const enabled = schedule?.disabledAt === null;
  const turn = useMutation({
    mutationFn: (id: string) =>
      enabled
        ? answered(client.POST("/api/schedules/{id}/disable", { params: { path: { id: pathId(id) } }, body: {} }))
        : answered(client.POST("/api/schedules/{id}/enable", { params: { path: { id: pathId(id) } }, body: null })),
    onSuccess: () => void queries.invalidateQueries(),
  });
  return (
    <header className={heading.head}>
      <div>
        <p className={heading.above}>
          <Link to="/projects/$id" params={{ id: workflow.project.id }}>
            {workflow.project.name}
          </Link>
        </p>
        <h1>{workflow.name}</h1>
        <p className={heading.facts}>
          <span>
            Revision <code>{workflow.revision.slice(0, 12)}</code>
          </span>
          {schedule &&
            (enabled ? (
              <span>
                Next run <Time at={Date.parse(schedule.nextRunTime)} of={schedule.nextScheduleTime} form="short" />, <Distance at={Date.parse(schedule.nextRunTime)} />
              </span>
            ) : (
              <span className={css.off}>
                Disabled since <Time at={Date.parse(schedule.disabledAt!)} form="short" />
              </span>
            ))}
          <span>{workflow.timezone}</span>
          {workflow.owner && <span>Owner: {workflow.owner}</span>}
          {workflow.tags?.map((tag) => (
            <Found key={tag} word={`tag:${tag}`}>
              {tag}
            </Found>
          ))}
        </p>
        {workflow.description && <p className={css.about}>{workflow.description}</p>}
      </div>
      {mayWrite && (
        <div className={heading.actions}>
          {schedule && (
            <Button onClick={() => turn.mutate(schedule.id)} disabled={turn.isPending} title={enabled ? commands.disable(schedule.id) : commands.enable(schedule.id)}>
              <CalendarX2 size={14} aria-hidden /> {enabled ? "Disable" : "Enable"}
            </Button>
          )}
          {schedule && (
            <Button onClick={() => ask("backfill")}>
              <CalendarPlus size={14} aria-hidden /> Backfill
            </Button>
          )}
          <Button look="main" onClick={() => ask("start")}>
            <Play size={14} aria-hidden /> Start
          </Button>
        </div>
      )}
      {turn.error && <Failure error={turn.error} />}
    </header>
  );
}

/** The selected session: its result, its cause, and the changes since the last success. */
function Summary({ attempt: id, workflow }: { attempt: string; workflow: Workflow }) {
  const calm = useDeferredValue(id);
  const mayWrite = useRight("write");
  const [retrying, setRetrying] = useState(false);
  const top = useQuery(gridQuery(workflow.id, null));
  const attempt = top.data?.columns.find((c) => c.id === calm);
  const failed = attempt?.status === "error";
  const cause = useQuery({ ...causeQuery(calm), enabled: failed });
  const since = useQuery({ ...comparisonQuery(calm), enabled: failed });
  if (!attempt) return null;
  return (
    <aside className={`${list.panel} ${css.summary}`} aria-label="The session">
      <h2>
        <Mark state={standingOf(attempt)} size={16} /> <SessionTime text={attempt.sessionTime} />
      </h2>
      <p className={`${heading.facts} ${css.under}`}>
        Attempt {attempt.id}
        <span>
          <Duration begin={attempt.created} end={attempt.finished} />
        </span>
      </p>
      {failed && cause.data?.task && (
        <div className={css.cause}>
          <code>{shownName(cause.data.task)}</code>
          <p>{cause.data.message}</p>
          <LastLines lines={cause.data.lines} />
        </div>
      )}
      {failed && since.data && <Since data={since.data} />}
      <div className={heading.actions}>
        <Link to="/attempts/$id" params={{ id: attempt.id }} className={buttonClass("main")}>
          Open
        </Link>
        {cause.data?.task && (
          <Link to="/attempts/$id" params={{ id: attempt.id }} search={{ task: cause.data.task, tab: "log" }} className={buttonClass()}>
            Log
          </Link>
        )}
        {failed && mayWrite && <Button onClick={() => setRetrying(true)}>Retry failed</Button>}
      </div>
      {retrying && <RetryDialog attempt={attempt.id} onClose={() => setRetrying(false)} />}
    </aside>
  );
}

function Since({ data }: { data: Schemas["Comparison"] }) {
  if (!data.with) return <p className={css.since}>{data.looked ? "It has never succeeded." : "None of the checked attempts succeeded."}</p>;
  const changed = [
    data.revision.from !== data.revision.to && `revision ${data.revision.to?.slice(0, 8) ?? "?"}`,
    data.files?.length && `${data.files.length} ${data.files.length === 1 ? "file" : "files"}`,
    data.params.length && `${data.params.length} ${data.params.length === 1 ? "parameter" : "parameters"}`,
    data.tasks.length && `${data.tasks.length} slower or faster`,
  ].filter(Boolean);
  return (
    <p className={css.since}>
      Since the last success (<SessionTime text={data.with.sessionTime} />): {changed.length ? changed.join(", ") : "no visible changes"}
    </p>
  );
}
