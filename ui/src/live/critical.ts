import { isOver, type Outline, rootsOf, type Task } from "./outline";

/** Reports whether a task waits for its siblings without naming them, such as the tasks of `_error` and `_check`, and failure notifications. */
export const comesLast = (task: Task | undefined) => task !== undefined && task.name.startsWith("^") && task.name !== "^sub";

/**
 * The tasks that determined the duration of an attempt, first to last: had one of them ended earlier, so had the attempt. It is
 * computed backwards: the task of a group that ended last, before it the one of its dependencies that
 * ended last, and so on. Groups are included with their tasks. For a running attempt the path leads to the present.
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
