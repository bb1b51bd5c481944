import type { Schemas } from "../api/client";

/** The schedule of a workflow. */
export type Scheduled = Schemas["Scheduled"];

/** A schedule that changes with the next revision; null means no schedule. */
export type Rescheduled = { workflow: string; from: string | null; to: string | null };

/** A schedule on one line. */
function words({ schedule, timezone }: Scheduled): string {
  const said = Object.entries(schedule).map(([key, value]) => `${key} ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return `${said.join(", ")} (${timezone})`;
}

/** The schedules that differ between two revisions, by workflow. */
export function rescheduled(before: readonly Scheduled[], after: readonly Scheduled[]): Rescheduled[] {
  const [old, young] = [before, after].map((list) => new Map(list.map((s) => [s.workflow, words(s)])));
  const names = [...new Set([...old!.keys(), ...young!.keys()])].sort();
  return names.map((workflow) => ({ workflow, from: old!.get(workflow) ?? null, to: young!.get(workflow) ?? null })).filter((r) => r.from !== r.to);
}

/** The schedules of workflows as the API lists them. */
export const schedulesOf = (workflows: readonly Schemas["Workflow"][]): Scheduled[] =>
  workflows.flatMap(({ name, timezone, config }) => {
    const { schedule } = config as { schedule?: unknown };
    return typeof schedule === "object" && schedule !== null ? [{ workflow: name, timezone, schedule: schedule as Scheduled["schedule"] }] : [];
  });
