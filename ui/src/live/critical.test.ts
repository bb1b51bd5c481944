import { describe, expect, it } from "vitest";
import { criticalPath } from "./critical";
import { emptyOutline, lay } from "./outline";

type Row = [id: number, parent: number, upstreams: number[], state: string, started: number, changed: number, name?: string];

function path(rows: Row[]): number[] {
  const outline = emptyOutline();
  const sets = rows.map((r) => r[2]);
  lay(outline, {
    id: rows.map((r) => r[0]),
    parent: rows.map((r) => r[1]),
    name: rows.map((r) => r[6] ?? `+${r[0]}`),
    upstreams: rows.map((_, i) => i),
    group: rows.map(() => false),
    resumed: rows.map(() => false),
    state: rows.map((r) => r[3]),
    started: rows.map((r) => r[4]),
    changed: rows.map((r) => r[5]),
    retry: rows.map(() => 0),
    runs: rows.map(() => 1),
    sets,
  });
  return criticalPath(outline).map((task) => task.id);
}

describe("the critical path", () => {
  it("goes from the last end back to the first start", () => {
    expect(
      path([
        [1, 0, [], "success", 1, 60],
        [2, 1, [], "success", 1, 10],
        [3, 1, [2], "success", 10, 50],
        [4, 1, [2], "success", 10, 20],
        [5, 1, [3, 4], "success", 50, 60],
      ]),
    ).toEqual([1, 2, 3, 5]);
  });

  it("enters groups and skips canceled tasks and tasks that never started", () => {
    expect(
      path([
        [1, 0, [], "group_error", 1, 70],
        [2, 1, [], "success", 1, 30],
        [3, 2, [], "success", 1, 30],
        [4, 2, [], "success", 1, 9],
        [5, 1, [2], "error", 30, 60],
        [6, 1, [5], "canceled", 0, 61],
        [7, 1, [5], "blocked", 0, 2],
      ]),
    ).toEqual([1, 2, 3, 5]);
  });

  it("continues before failure notifications", () => {
    expect(
      path([
        [1, 0, [], "group_error", 1, 62],
        [2, 1, [], "success", 1, 30],
        [3, 1, [2], "error", 30, 60],
        [4, 1, [3], "blocked", 0, 1],
        [5, 1, [], "success", 61, 62, "^failure-alert"],
      ]),
    ).toEqual([1, 2, 3, 5]);
  });

  it("leads to running tasks", () => {
    expect(
      path([
        [1, 0, [], "planned", 1, 2],
        [2, 1, [], "success", 1, 30],
        [3, 1, [2], "running", 30, 31],
        [4, 1, [2], "success", 30, 40],
        [5, 1, [3, 4], "blocked", 0, 1],
      ]),
    ).toEqual([1, 2, 3]);
  });

  it("is empty without tasks", () => expect(path([])).toEqual([]));
});
