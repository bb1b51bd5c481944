import type { Schemas } from "../api/client";

export type Plan = Schemas["PlanHere"];

/** A row of a plan: a task of the workflow file. */
export type PlanRow = {
  /** The index in the plan. */
  task: number;
  depth: number;
  label: string;
  operator: string | null;
  /** It is generated for each iteration of a loop, or only if a condition holds: the number is only known at run time. */
  turns: boolean;
  /** It does not wait for the task above it. */
  beside: boolean;
  place: Plan["tasks"][number]["place"];
};

/** Operators whose subtasks run several times or conditionally. */
const loops = new Set(["loop", "for_each", "for_range"]);

/** The rows of a plan from top to bottom. Tasks that only wrap subtasks, such as `_do` of a loop, have no row. */
export function planRows(plan: Plan): PlanRow[] {
  const depths: number[] = [];
  const rows: PlanRow[] = [];
  const above: number[] = []; // the last task of each level, to detect parallel tasks
  plan.tasks.forEach((t, i) => {
    const parent = t.parent === null ? null : plan.tasks[t.parent]!;
    const own = parent ? t.name.slice(parent.name.length) : t.name;
    const holder = parent !== null && t.made && /^\^sub(\+\{\})?$/.test(own);
    const depth = t.parent === null ? 0 : depths[t.parent]! + (holder ? 0 : 1);
    depths.push(depth);
    if (holder && t.operator === null) return;
    const sibling = above[depth];
    const beside = sibling !== undefined && plan.tasks[sibling]!.parent === t.parent && !t.upstreams.includes(sibling);
    above.length = depth;
    above[depth] = i;
    rows.push({ task: i, depth: holder ? depth + 1 : depth, label: holder ? "_do" : own, operator: t.operator, turns: t.makes && loops.has(t.operator ?? ""), beside, place: t.place });
  });
  return rows;
}
