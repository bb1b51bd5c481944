import { describe, expect, it } from "vitest";
import { evenRows, offsetOf, rowHeight, scrollFor } from "./rows";

const height = 600;

describe("lines of one height", () => {
  it("are drawn in and near the visible part", () => {
    const rows = evenRows(1000, { top: 5000, height });
    expect([rows.first, rows.end, rows.total]).toEqual([220, 310, 20_000]);
    expect(rows.topOf(250)).toBe(5000);
    expect(evenRows(3, { top: 0, height })).toMatchObject({ first: 0, end: 3, total: 60 });
    expect(evenRows(0, { top: 0, height })).toMatchObject({ first: 0, end: 0, total: 0 });
  });

  it("are all reachable", () => {
    for (const count of [10, 700_000, 750_001, 1_650_000, 10_000_000]) {
      for (const line of [0, 7, Math.floor(count / 2), count - 1]) {
        for (const align of ["center", "end"] as const) {
          const top = scrollFor(count, height, offsetOf(line, height, align));
          const rows = evenRows(count, { top, height });
          expect(top).toBeLessThanOrEqual(Math.max(0, rows.total - height));
          const at = rows.topOf(line) - top;
          expect(at).toBeGreaterThanOrEqual(-0.01);
          expect(at).toBeLessThanOrEqual(height - rowHeight + 0.01);
          expect(line >= rows.first && line < rows.end).toBe(true);
        }
      }
    }
  });

  it("stay below the maximum height of browsers", () => expect(evenRows(10_000_000, { top: 0, height }).total).toBe(15_000_000));
});
