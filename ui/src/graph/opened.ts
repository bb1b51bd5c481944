import { childrenOf, labelOf } from "../attempt/tree";
import { comesLast } from "../live/critical";
import { isFailure, isOver, type Outline, rootsOf, type Task } from "../live/outline";
import type { Box } from "./layout";

/** The maximum number of boxes of a graph: with more it does not move smoothly. */
export const mostBoxes = 500;

/** Counts of the tasks below a group, by state. */
export type Tally = { total: number; done: number; failed: number; running: number };

/** The counts of all groups, of the tasks below them that are not groups. */
export function talliesOf(outline: Outline): Map<number, Tally> {
  const tallies = new Map<number, Tally>();
  for (const task of outline.tasks.values()) {
    if (task.children.length > 0) continue;
    for (let above = outline.tasks.get(task.parent); above; above = outline.tasks.get(above.parent)) {
      let tally = tallies.get(above.id);
      if (!tally) tallies.set(above.id, (tally = { total: 0, done: 0, failed: 0, running: 0 }));
      tally.total++;
      if (task.state === "success") tally.done++;
      else if (isFailure(task.state)) tally.failed++;
      else if (task.state === "running") tally.running++;
    }
  }
  return tallies;
}

/** The number of boxes if these groups are open. */
export function boxesOf(outline: Outline, open: ReadonlySet<number>): number {
  const count = (tasks: Task[]): number =>
    tasks.reduce((sum, task) => sum + 1 + (open.has(task.id) ? count(childrenOf(outline, task)) : 0), 0);
  return count(rootsOf(outline));
}

/**
 * The groups that are open initially: groups with failures or running tasks first, and outer groups before
 * inner ones, as long as there is room for all of their tasks.
 */
export function openAtFirst(outline: Outline): Set<number> {
  const open = new Set<number>();
  const waiting: { task: Task; depth: number }[] = [];
  const rank = ({ task, depth }: { task: Task; depth: number }) => depth + (isFailure(task.state) ? 0 : isOver(task.state) ? 2000 : 1000);
  const offer = (tasks: Task[], depth: number) => {
    for (const task of tasks) if (task.children.length > 0) waiting.push({ task, depth });
    waiting.sort((a, b) => rank(a) - rank(b));
  };
  const roots = rootsOf(outline);
  let boxes = roots.length;
  offer(roots, 0);
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const children = childrenOf(outline, next.task);
    if (boxes + children.length > mostBoxes) continue;
    boxes += children.length;
    open.add(next.task.id);
    offer(children, next.depth + 1);
  }
  return open;
}

/** The width of a box in addition to its name, and the approximate width of a letter, in pixels. */
const beside = 92;
const letter = 7.1;

/** The boxes of an attempt if these groups are open. */
export function boxesFor(outline: Outline, open: ReadonlySet<number>): Box[] {
  const boxOf = (task: Task): Box => ({
    id: task.id,
    width: Math.round(Math.min(300, Math.max(120, beside + letter * labelOf(task).length))),
    upstreams: task.upstreams,
    last: comesLast(task),
    children: open.has(task.id) ? childrenOf(outline, task).map(boxOf) : null,
  });
  return rootsOf(outline).map(boxOf);
}
