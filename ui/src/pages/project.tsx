import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Pause } from "lucide-react";
import { useState } from "react";
import { answered, client, isMissing, pathId, type Schemas } from "../api/client";
import { projectQuery, projectSchedulesQuery, projectWorkflowsQuery } from "../api/queries";
import { useRight } from "../api/session";
import { Button, buttonClass } from "../parts/button";
import { commands } from "../parts/commands";
import { Empty, Loading } from "../parts/feedback";
import { PauseDialog, Paused, UnpauseButton } from "../parts/pause";
import { Distance, Time } from "../parts/time";
import { useTitle } from "../shell/title";
import css from "./list.module.css";
import { Nearby } from "./nearby";

const route = getRouteApi("/projects/$id");

/** A project: its workflows, and the next run of each. */
export default function Project() {
  const { id } = route.useParams();
  const project = useQuery(projectQuery(id));
  const workflows = useQuery(projectWorkflowsQuery(id));
  const schedules = useQuery(projectSchedulesQuery(id));
  const mayPush = useRight("push");
  useTitle(project.data?.name ?? "Project");
  if (!project.data) {
    return (
      <div className={css.page}>
        <Loading query={project} rows={1} />
        {isMissing(project.error) && <Nearby project={id} workflow={null} />}
      </div>
    );
  }
  const scheduled = new Map(schedules.data?.schedules.map((s) => [s.workflow.name, s]));
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h1>
          <Link to="/projects" className={css.crumb}>
            Projects
          </Link>
          {project.data.name}
        </h1>
        <p className={css.cell}>
          revision <code>{project.data.revision}</code>, <Distance at={Date.parse(project.data.updatedAt)} />
        </p>
        <Link to="/projects/edit/$id" params={{ id }} className={buttonClass()}>
          {mayPush ? "Edit" : "Files"}
        </Link>
        <Starts project={project.data} />
      </header>
      {project.data.paused && (
        <p className={css.note} role="status">
          No attempts of this project start. It is <Paused paused={project.data.paused} /> (<Distance at={Date.parse(project.data.paused.at)} />). Schedules and backfills keep their due sessions.
        </p>
      )}
      <section className={css.panel} aria-labelledby="workflows">
        <h2 id="workflows">Workflows</h2>
        {!workflows.data && <Loading query={workflows} height={48} />}
        {workflows.data?.workflows.length === 0 && <Empty>This revision has no workflows.</Empty>}
        <ul>
          {workflows.data?.workflows.map((w) => (
            <li key={w.id}>
              <Link to="/projects/$id/$workflow" params={{ id, workflow: w.name }} className={css.row} data-row>
                <span className={css.name}>{w.name}</span>
                <Planned schedule={scheduled.get(w.name)} />
              </Link>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

/** Pauses and resumes a project. */
function Starts({ project }: { project: Schemas["Project"] }) {
  const mayWrite = useRight("write");
  const [open, setOpen] = useState(false);
  const asked = { params: { path: { id: pathId(project.id) } } };
  const shown = ["project", project.id];
  if (!mayWrite) return null;
  if (project.paused) return <UnpauseButton send={() => answered(client.POST("/api/projects/{id}/unpause", { ...asked, body: {} }))} shown={shown} />;
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <Pause size={14} aria-hidden /> Pause
      </Button>
      {open && (
        <PauseDialog
          title="Pause this project"
          what="No attempt of the project starts until you resume it. Running attempts continue. Schedules and backfills keep their due sessions until then."
          line={commands.pauseProject(project.name)}
          send={(reason) => answered(client.POST("/api/projects/{id}/pause", { ...asked, body: { reason } }))}
          shown={shown}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

function Planned({ schedule }: { schedule: Schemas["Schedule"] | undefined }) {
  if (!schedule) return <span className={css.cell}>no schedule</span>;
  if (schedule.disabledAt) return <span className={css.cell}>disabled</span>;
  const at = Date.parse(schedule.nextRunTime);
  return (
    <>
      <span className={css.cell}>
        next <Time at={at} of={schedule.nextScheduleTime} form="short" />
      </span>
      <span className={`${css.cell} ${css.right}`}>
        <Distance at={at} />
      </span>
    </>
  );
}
