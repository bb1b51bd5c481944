import type { Schemas } from "../api/client";

export type Columns = Schemas["TaskColumns"];
export type Change = Schemas["Change"];

/** A success that was skipped or whose error is ignored; a ready task, or the root, that waits for others. */
export type Standing = "skipped" | "ignored" | "waits" | null;

type Standings = { skipped?: readonly number[]; ignored?: readonly number[]; waiting?: readonly number[] };

function standingsOf({ skipped = [], ignored = [], waiting = [] }: Standings): Map<number, Standing> {
  const all = new Map<number, Standing>();
  for (const id of skipped) all.set(id, "skipped");
  for (const id of ignored) all.set(id, "ignored");
  for (const id of waiting) all.set(id, "waits");
  return all;
}

/** The state that the mark of a task shows. */
export const shownState = (task: Pick<Task, "state" | "standing">): string => task.standing ?? task.state;

/** A task of an attempt in the page. Times are milliseconds since 1970, 0 for none. */
export type Task = {
  id: number;
  parent: number;
  /** The suffix after the full name of its parent. */
  name: string;
  full: string;
  group: boolean;
  resumed: boolean;
  state: string;
  /** Details beyond its state. */
  standing: Standing;
  started: number;
  changed: number;
  retry: number;
  runs: number;
  /** The siblings that it depends on. Tasks with the same dependencies share one array. */
  upstreams: readonly number[];
  children: number[];
};

/** The time span of one run of a task, which may still be in progress. */
export type Try = { begin: number; end: number; state: string };

/** The tasks of an attempt by number. Functions of this file change it in place and increase `version`. */
export type Outline = { version: number; tasks: Map<number, Task>; errors: Map<number, string> };

export const emptyOutline = (): Outline => ({ version: 0, tasks: new Map(), errors: new Map() });

/** Adds the tasks of columns; an existing task is replaced and keeps its children. */
export function lay(outline: Outline, columns: Columns) {
  const standings = standingsOf(columns);
  columns.id.forEach((id, i) => {
    const parent = outline.tasks.get(columns.parent[i]!);
    const name = columns.name[i]!;
    const known = outline.tasks.get(id);
    const task: Task = {
      id,
      parent: columns.parent[i]!,
      name,
      full: (parent?.full ?? "") + name,
      group: columns.group[i]!,
      resumed: columns.resumed[i]!,
      state: columns.state[i]!,
      standing: standings.get(id) ?? null,
      started: columns.started[i]!,
      changed: columns.changed[i]!,
      retry: columns.retry[i]!,
      runs: columns.runs[i]!,
      upstreams: columns.sets[columns.upstreams[i]!] ?? [],
      children: known?.children ?? [],
    };
    outline.tasks.set(id, task);
    if (!known && parent) parent.children.push(id);
  });
  outline.version++;
}

/** The tasks without a parent. */
export const rootsOf = (outline: Outline): Task[] => [...outline.tasks.values()].filter((task) => !outline.tasks.has(task.parent));

/** Applies an entry of the history. */
export function fold(outline: Outline, change: Change) {
  if (change.made) lay(outline, change.made);
  const standings = standingsOf(change);
  change.task.forEach((id, i) => {
    const task = outline.tasks.get(id);
    if (!task) return;
    const state = change.state[i]!;
    const standing = standings.get(id) ?? null;
    if (state === "running" && change.runs[i]! > 0 && standing !== "waits" && task.started === 0) task.started = change.at;
    if (state !== task.state) task.changed = change.at;
    task.state = state;
    task.standing = standing;
    task.runs = change.runs[i]!;
    task.retry = change.retry[i]!;
  });
  outline.version++;
}

/** A full name as in the workflow: without the parts that only wrap generated tasks. */
export const shownName = (full: string): string => full.replaceAll("^sub", "");

/** The runs of each task that ran more than once, from the whole history of an attempt. */
export function triesOf(history: readonly Change[]): Map<number, Try[]> {
  const all = new Map<number, Try[]>();
  const counted = new Map<number, number>();
  const note = (id: number, state: string, runs: number, at: number) => {
    const tries = all.get(id) ?? [];
    const last = tries.at(-1);
    const another = runs > (counted.get(id) ?? 0); // a run may end and the next one begin in the same entry
    counted.set(id, runs);
    if (last?.end === 0 && (another || state !== "running")) {
      last.end = at;
      last.state = state === "running" ? "retry_waiting" : state;
    }
    if (state === "running" && (another || last?.end !== 0)) tries.push({ begin: at, end: 0, state });
    if (tries.length > 0) all.set(id, tries);
  };
  const noteAll = (ids: readonly number[], of: { state: string[]; runs: number[] } & Standings, at: number) => {
    const standings = standingsOf(of);
    // Tasks that wait for slots, or whose keys are being evaluated, do not run.
    ids.forEach((id, i) => note(id, standings.get(id) === "waits" || of.runs[i] === 0 ? "ready" : of.state[i]!, of.runs[i]!, at));
  };
  for (const change of history) {
    if (change.made) noteAll(change.made.id, change.made, change.at);
    noteAll(change.task, change, change.at);
  }
  return all;
}

/** The runs of tasks that had started by a time; a run that ended later is still in progress. */
export function triesUntil(all: ReadonlyMap<number, Try[]>, at: number): Map<number, Try[]> {
  const then = new Map<number, Try[]>();
  for (const [id, tries] of all) {
    const begun = tries.filter((t) => t.begin <= at).map((t) => (t.end > at ? { ...t, end: 0, state: "running" } : t));
    if (begun.length > 0) then.set(id, begun);
  }
  return then;
}

const over = new Set(["success", "error", "group_error", "canceled"]);

/** Reports whether the state of a task is final. */
export const isOver = (state: string) => over.has(state);
export const isFailure = (state: string) => state === "error" || state === "group_error";
/** Reports whether a task or one of its subtasks is running. */
export const isBusy = (state: string) => state === "running" || state === "planned";

/** Reports whether cleanup tasks are running, which a first kill spares and a second one stops. */
export function isCleaning(outline: Outline): boolean {
  for (const task of outline.tasks.values()) {
    if ((task.name === "^cancel" || task.name === "^finally") && isBusy(task.state)) return true;
  }
  return false;
}

/** Counts of the tasks that are not groups, by state. */
export type Counts = { total: number; done: number; failed: number; running: number; ignored: number };

export function count(outline: Outline): Counts {
  const counts = { total: 0, done: 0, failed: 0, running: 0, ignored: 0 };
  for (const task of outline.tasks.values()) {
    if (task.standing === "ignored") counts.ignored++;
    if (task.group) continue;
    counts.total++;
    if (task.state === "success") counts.done++;
    if (isFailure(task.state)) counts.failed++;
    if (task.state === "running" && task.standing === null) counts.running++;
  }
  return counts;
}

/** The root cause of a failed attempt: the first task that failed itself. */
export function firstFailure(outline: Outline): Task | null {
  let first: Task | null = null;
  for (const task of outline.tasks.values()) {
    if (task.state !== "error" || !outline.errors.get(task.id)) continue;
    if (first === null || task.changed < first.changed) first = task;
  }
  return first;
}

/** Finds a task by its number or by its full name; if several have the name, the newest one. */
export function findTask(outline: Outline, key: string | undefined): Task | null {
  if (!key) return null;
  if (/^[0-9]+$/.test(key)) return outline.tasks.get(Number(key)) ?? null;
  let found: Task | null = null;
  for (const task of outline.tasks.values()) if (task.full === key) found = task;
  return found;
}
