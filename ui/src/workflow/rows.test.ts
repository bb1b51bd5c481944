import { describe, expect, it } from "vitest";
import type { Grid } from "./queries";
import { quantile, rowsOf } from "./rows";

const column = (id: string) => ({ id, status: "success" }) as Grid["columns"][number];
const grid = (ids: string[], rows: [name: string, inner: boolean, states: (string | null)[]][]): Grid => ({
  columns: ids.map(column),
  rows: rows.map(([name, inner, state]) => ({ name, inner, state, took: state.map(() => 5), tries: state.map(() => 1) })),
  more: false,
  next: null,
});

describe("the rows of a grid", () => {
  const top = grid(["3", "2", "1"], [["+load", true, ["error", "success", "success"]], ["+check", false, [null, "success", null]]]);

  it("go from the oldest session to the newest", () => {
    const rows = rowsOf("+daily", new Map([["+daily", top]]), new Set());
    expect(rows.map((r) => r.full)).toEqual(["+daily+load", "+daily+check"]);
    expect(rows[0]!.cells.map((c) => c?.state)).toEqual(["success", "success", "error"]);
    expect(rows[1]!.cells.map((c) => c?.state)).toEqual([undefined, "success", undefined]);
  });

  it("include a level that was read at a different time", () => {
    const inner = grid(["4", "3", "1"], [["+part", false, ["running", "error", "success"]]]);
    const rows = rowsOf("+daily", new Map([["+daily", top], ["+daily+load", inner]]), new Set(["+daily+load"]));
    expect(rows.map((r) => [r.full, r.depth])).toEqual([["+daily+load", 0], ["+daily+load+part", 1], ["+daily+check", 0]]);
    expect(rows[1]!.cells.map((c) => c?.state)).toEqual(["success", undefined, "error"]);
  });

  it("show that a level is loading, or empty", () => {
    expect(rowsOf("+daily", new Map([["+daily", top], ["+daily+load", null]]), new Set(["+daily+load"]))[0]).toMatchObject({ open: true, loading: true });
    expect(rowsOf("+daily", new Map(), new Set())).toEqual([]);
  });
});

describe("a quantile", () => {
  it("is a value of the list", () => {
    expect(quantile([5, 1, 4, 2, 3, 6, 7, 8, 9, 10], 0.9)).toBe(10);
    expect(quantile([7], 0.9)).toBe(7);
    expect(quantile([], 0.9)).toBe(0);
  });
});
