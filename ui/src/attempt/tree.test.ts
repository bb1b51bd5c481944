import { describe, expect, test } from "vitest";
import { emptyOutline, lay, type Outline } from "../live/outline";
import { columns } from "../live/columns.testing";
import { labelOf, type Row, rowsOf, spansOf } from "./tree";

const shown = { toggled: new Set<number>(), unfolded: new Set<number>() };
const all = { text: "", only: undefined };
const text = (rows: Row[]) => rows.map((r) => `${" ".repeat(r.depth)}${r.label}`);

function wide(n: number, state: (i: number) => string): Outline {
  const o = emptyOutline();
  lay(o, columns([1, 0, "+wf", "planned"], ...Array.from({ length: n }, (_, i): [number, number, string, string] => [i + 2, 1, `+p${i}`, state(i)])));
  return o;
}

describe("tree", () => {
  test("generated tasks are shown below their task", () => {
    const o = emptyOutline();
    lay(o, columns([1, 0, "+wf", "success"], [2, 1, "+each", "success"], [3, 2, "^sub", "success"], [4, 3, "+loop-0", "success"], [5, 4, "^sub", "success"]));
    expect(text(rowsOf(o, shown, all))).toEqual(["+wf", " +each", "  #0", "   _do"]);
  });

  test("fifty siblings are rows, one more creates a fold", () => {
    expect(rowsOf(wide(50, () => "success"), shown, all)).toHaveLength(51);
    expect(text(rowsOf(wide(51, () => "success"), shown, all))).toEqual(["+wf", " +p0 … +p50"]);
  });

  test("failed and retrying siblings come before a fold, then some running ones, and the fold counts the rest", () => {
    const o = wide(400, (i) => (i === 200 ? "error" : i === 300 ? "retry_waiting" : i < 60 ? "running" : i < 390 ? "success" : "blocked"));
    const rows = rowsOf(o, shown, all);
    expect(text(rows).slice(0, 4)).toEqual(["+wf", " +p200", " +p300", " +p0"]);
    expect(rows).toHaveLength(1 + 2 + 20 + 1);
    expect(rows.at(-1)).toMatchObject({ kind: "fold", tally: { done: 328, running: 40, failed: 0, rest: 10 } });
    expect(rowsOf(o, { ...shown, unfolded: new Set([1]) }, all)).toHaveLength(401);
  });

  test("a filter shows matches and their ancestors without folds", () => {
    const o = wide(200, (i) => (i < 100 ? "error" : "success"));
    expect(text(rowsOf(o, shown, { text: "P19", only: undefined }))).toEqual(["+wf", " +p19", ...Array.from({ length: 10 }, (_, i) => ` +p19${i}`)]);
    expect(rowsOf(o, shown, { text: "", only: "failed" })).toHaveLength(101);
  });

  test("a closed group has no rows below it", () => {
    expect(rowsOf(wide(3, () => "success"), { ...shown, toggled: new Set([1]) }, all)).toHaveLength(1);
  });

  test("iterations of loops are named by value", () => {
    const named = (name: string) => labelOf({ name } as Parameters<typeof labelOf>[0]);
    expect(named("+loop-12")).toBe("#12");
    expect(named("+for-0=region=1=us")).toBe("region=us");
    expect(named("+for-0=fruit=0=apple&1=verb=1=eat%2Bthrow")).toBe("fruit=apple, verb=eat+throw");
    expect(named("+for-a")).toBe("+for-a");
    expect(named("+for-0=x=0=%zz")).toBe("x=%zz");
  });

  test("a group spans the first start below it to its own end", () => {
    const o = emptyOutline();
    lay(o, columns([1, 0, "+wf", "group_error", 0, 900], [2, 1, "+a", "success", 300, 400], [3, 1, "+b", "running", 500, 500]));
    expect(spansOf(o).get(1)).toEqual({ begin: 300, end: 900 });
    expect(spansOf(o).get(3)).toEqual({ begin: 500, end: 0 });
  });
});
