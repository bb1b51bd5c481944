import { isOver, type Outline, rootsOf, type Task } from "./outline";

/** Whether a task waits for its siblings without naming them, as what `_error` and `_check` have does, and the notice of a failure. */
export const comesLast = (task: Task | undefined) => task !== undefined && task.name.startsWith("^") && task.name !== "^sub";

/**
 * The tasks that an attempt took its time for, first to last: had one of them ended earlier, so had the attempt. It is
 * read from the end: of the tasks of a group the one that ended last, before it the one of those it waited for that
 * ended last, and so on. Groups are on it with the tasks below them. Of an attempt that goes on it leads to now.
 */
export function criticalPath(outline: Outline): Task[] {
  const path: Task[] = [];
  const tasks = outline.tasks;
  const end = (task: Task) => (isOver(task.state) ? task.changed : task.started > 0 ? Infinity : 0);
  const last = (ids: readonly number[]): Task | null => {
    let found: Task | null = null;
    for (const id of ids) {
      const task = tasks.get(id);
      if (task && end(task) > 0 && task.state !== "canceled" && (found === null || end(task) >= end(found))) found = task;
    }
    return found;
  };
  const walk = (ids: readonly number[]) => {
    for (let task = last(ids); task !== null; ) {
      walk(task.children);
      path.push(task);
      const atTheEnd = task.upstreams.length === 0 && comesLast(task);
      task = last(atTheEnd ? ids.filter((id) => !comesLast(tasks.get(id))) : task.upstreams);
    }
  };
  walk(rootsOf(outline).map((task) => task.id));
  return path.reverse();
}
