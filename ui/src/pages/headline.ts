import type { Brief, Overview } from "../api/client";

export type FailedRow = Overview["failed"]["rows"][number];

/** The failures of one workflow as one row: the newest, and their number. */
export type FailedGroup = { newest: FailedRow; times: number };

export const workflowName = (b: Pick<Brief, "project" | "workflow">) => `${b.project.name}/${b.workflow.name}`;

/** Groups failures by workflow, in the order of the newest failure of each. */
export function groupFailures(rows: FailedRow[]): FailedGroup[] {
  const groups = new Map<string, FailedGroup>();
  for (const row of rows) {
    const key = `${row.attempt.project.id}\n${row.attempt.workflow.name}`;
    const group = groups.get(key);
    if (!group) groups.set(key, { newest: row, times: 1 });
    else {
      group.times++;
      if (row.attempt.finished > group.newest.attempt.finished) group.newest = row;
    }
  }
  return [...groups.values()].sort((a, b) => b.newest.attempt.finished - a.newest.attempt.finished);
}

const many = (n: number, one: string, several: string) => `${n} ${n === 1 ? one : several}`;

/** The headline: the most important state. */
export function headline(overview: Overview): string {
  const failed = groupFailures(overview.failed.rows).length;
  const late = overview.late.length;
  if (failed === 0 && late === 0) return overview.running.total > 0 ? "Everything is running fine." : "Everything is fine.";
  const parts = [failed > 0 ? `${many(failed, "workflow", "workflows")} failed` : "", late > 0 ? `${many(late, "is", "are")} late` : ""];
  return `${parts.filter(Boolean).join(", ")}.`;
}
