import type { Columns } from "./outline";

/** Columns of tasks, each as [id, parent, name, state, started, changed]. */
export function columns(...tasks: [number, number, string, string, number?, number?][]): Columns {
  return {
    id: tasks.map((t) => t[0]),
    parent: tasks.map((t) => t[1]),
    name: tasks.map((t) => t[2]),
    state: tasks.map((t) => t[3]),
    started: tasks.map((t) => t[4] ?? 0),
    changed: tasks.map((t) => t[5] ?? 0),
    group: tasks.map((t) => tasks.some((c) => c[1] === t[0])),
    upstreams: tasks.map(() => 0),
    resumed: tasks.map(() => false),
    retry: tasks.map(() => 0),
    runs: tasks.map((t) => (t[3] === "running" ? 1 : 0)),
    sets: [[]],
  };
}

