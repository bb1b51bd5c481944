import { isBusy, isFailure, isOver, type Outline, rootsOf, type Task } from "../live/outline";

/** More siblings than this are folded into one row, after those that need attention. */
const most = 50;
/** The maximum number of running siblings that are shown before a fold. */
const mostBusy = 20;

/** Counts of the tasks that a row represents, by state. */
export type Tally = { done: number; running: number; failed: number; rest: number };

export type Row =
  | { kind: "task"; task: Task; depth: number; label: string; again: number; children: boolean; open: boolean }
  | { kind: "fold"; key: string; parent: number; depth: number; label: string; tally: Tally; begin: number; end: number };

/** The user's changes to the tree: opened or closed tasks, and unfolded rows. */
export type Shown = { toggled: ReadonlySet<number>; unfolded: ReadonlySet<number> };

/** The filters of the tree. */
export type Filter = { text: string; only: "failed" | "running" | "critical" | undefined; critical?: ReadonlySet<number> };

/** Reports whether a task only wraps generated tasks: its children are shown in its place. A task without children does work itself. */
const between = (task: Task) => task.name === "^sub" && task.children.length > 0;

export function childrenOf(outline: Outline, task: Task): Task[] {
  return task.children.flatMap((id) => {
    const child = outline.tasks.get(id)!;
    return between(child) ? childrenOf(outline, child) : [child];
  });
}

/** Reports whether a task is open by default: groups with failures or running tasks, and small groups. */
function opensItself(outline: Outline, task: Task, depth: number): boolean {
  return depth === 0 || outline.tasks.size <= 200 || isFailure(task.state) || isBusy(task.state);
}

/** The tasks that a filter shows: matches and their ancestors. null shows all. */
function fitting(outline: Outline, filter: Filter): Set<number> | null {
  if (!filter.text && !filter.only) return null;
  const text = filter.text.toLowerCase();
  const fits = new Set<number>();
  for (const task of outline.tasks.values()) {
    if (text && !task.full.toLowerCase().includes(text)) continue;
    if (filter.only === "failed" && !isFailure(task.state)) continue;
    if (filter.only === "running" && !isBusy(task.state)) continue;
    if (filter.only === "critical" && !filter.critical?.has(task.id)) continue;
    for (let t: Task | undefined = task; t && !fits.has(t.id); t = outline.tasks.get(t.parent)) fits.add(t.id);
  }
  return fits;
}

/** The rows of the tree from top to bottom. */
export function rowsOf(outline: Outline, shown: Shown, filter: Filter): Row[] {
  const fits = fitting(outline, filter);
  const rows: Row[] = [];
  const add = (task: Task, depth: number, again: number) => {
    const children = childrenOf(outline, task).filter((c) => fits === null || fits.has(c.id));
    const open = children.length > 0 && (fits !== null || opensItself(outline, task, depth) !== shown.toggled.has(task.id));
    rows.push({ kind: "task", task, depth, label: labelOf(task), again, children: children.length > 0, open });
    if (open) addAll(task, children, depth + 1);
  };
  const addAll = (parent: Task, children: Task[], depth: number) => {
    if (children.length <= most || shown.unfolded.has(parent.id) || fits !== null) {
      const seen = new Map<string, number>();
      for (const c of children) {
        const times = (seen.get(c.name) ?? 0) + 1;
        seen.set(c.name, times);
        add(c, depth, times);
      }
      return;
    }
    const [apart, rest] = partition(children);
    for (const c of apart) add(c, depth, 1);
    if (rest.length > 0) rows.push(foldOf(parent, rest, depth));
  };
  for (const task of rootsOf(outline)) add(task, 0, 1);
  return rows;
}

/** Failures first, then some running tasks; the rest is folded. */
function partition(children: Task[]): [Task[], Task[]] {
  const failed = children.filter((c) => isFailure(c.state) || c.state.endsWith("retry_waiting"));
  const busy = children.filter((c) => isBusy(c.state)).slice(0, mostBusy);
  const apart = new Set([...failed, ...busy]);
  return [[...apart], children.filter((c) => !apart.has(c))];
}

function foldOf(parent: Task, tasks: Task[], depth: number): Row {
  const tally = { done: 0, running: 0, failed: 0, rest: 0 };
  let begin = 0;
  let end = 0;
  for (const t of tasks) {
    tally[t.state === "success" ? "done" : isBusy(t.state) ? "running" : isFailure(t.state) ? "failed" : "rest"]++;
    const from = t.started || (isOver(t.state) ? t.changed : 0);
    if (from > 0 && (begin === 0 || from < begin)) begin = from;
    if (isOver(t.state)) end = Math.max(end, t.changed);
  }
  const label = `${labelOf(tasks[0]!)} … ${labelOf(tasks.at(-1)!)}`;
  return { kind: "fold", key: `fold ${parent.id}`, parent: parent.id, depth, label, tally, begin, end };
}

const loop = /^\+(?:for-|loop-)(.*)$/;

/** The name of a task as in the workflow, with iterations of a loop by value: `+for-0=region=1=us` as `region=us`. */
export function labelOf(task: Task): string {
  const turn = loop.exec(task.name);
  if (task.name === "^sub") return "_do";
  if (!turn) return task.name;
  if (task.name.startsWith("+loop-")) return `#${turn[1]}`;
  const parts = [...turn[1]!.matchAll(/(?:^|&)[0-9]+=(.*?)=[0-9]+=([^&]*)/g)].map((m) => `${unescape(m[1]!)}=${unescape(m[2]!)}`);
  return parts.length > 0 ? parts.join(", ") : task.name;
}

/** Decodes the name of an iteration, which is percent-encoded; an invalid name is returned unchanged. */
function unescape(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The start and end of each task including its subtasks, because groups have no times of their own. 0 means not yet. */
export function spansOf(outline: Outline): Map<number, { begin: number; end: number }> {
  const spans = new Map<number, { begin: number; end: number }>();
  // A child has a larger number than its parent, so in descending order every child comes first.
  const ids = [...outline.tasks.keys()].sort((a, b) => b - a);
  for (const id of ids) {
    const task = outline.tasks.get(id)!;
    let begin = task.started;
    for (const c of task.children) {
      const child = spans.get(c);
      if (child && child.begin > 0 && (begin === 0 || child.begin < begin)) begin = child.begin;
    }
    spans.set(id, { begin, end: isOver(task.state) && begin > 0 ? task.changed : 0 });
  }
  return spans;
}
