import { Link } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import { useSession } from "../api/session";

type Subject = Schemas["Subject"];

const words: Record<string, string> = {
  run: "runs tasks",
  fire: "fires schedules",
  begin: "starts an attempt for an event",
  results: "delivers results",
  due: "wakes a task",
  start: "starts",
  go_on: "continues",
  kill: "kills",
  pause: "pauses",
  unpause: "resumes",
  start_due: "start time reached",
  sla_due: "sla: reached",
  check: "checks whether it started",
  revive: "revives",
  take_over: "takes over",
};

/** Describes a message in words. */
export const whatOf = (s: Subject): string => words[s.what] ?? (s.what || "not known here");

/** The tasks of a message: the first names, and the number of further tasks. */
export function tasksOf(s: Subject): string {
  if (s.tasks.length === 0) return s.count === 0 ? "" : s.count === 1 ? "one task" : `${s.count.toLocaleString("en")} tasks`;
  const more = s.count - s.tasks.length;
  return s.tasks.join(", ") + (more > 0 ? `, ${more.toLocaleString("en")} more` : "");
}

/** The attempt of a message: a link if it belongs to the user's site, which is the only one that the user can open. */
export function AttemptOf({ subject }: { subject: Subject }) {
  const own = useSession().site ?? "0";
  const a = subject.attempt;
  if (a === null) return <>–</>;
  const name = `${a.project.name}/${a.workflow}`;
  if (a.site !== own) return <>{`${name}, attempt ${a.id} of site ${a.site}`}</>;
  return (
    <Link to="/attempts/$id" params={{ id: a.id }}>
      {name}, attempt {a.id}
    </Link>
  );
}
