import { describe, expect, it } from "vitest";
import { type Box, layOut, sizes } from "./layout";

const none: number[] = [];
const box = (id: number, upstreams: readonly number[] = none, children: Box[] | null = null): Box => ({ id, width: 100, upstreams, children });

describe("the layout of the graph", () => {
  it("places a chain from left to right", () => {
    const { boxes, lines } = layOut([box(1), box(2, [1]), box(3, [2])]);
    expect(boxes.map((b) => [b.x, b.y])).toEqual([
      [0, 0],
      [100 + sizes.across, 0],
      [2 * (100 + sizes.across), 0],
    ]);
    expect(lines).toEqual([
      { from: "1", to: "2" },
      { from: "2", to: "3" },
    ]);
  });

  it("places independent boxes in columns", () => {
    const { boxes } = layOut(Array.from({ length: sizes.column + 1 }, (_, i) => box(i + 1)));
    expect(boxes[1]).toMatchObject({ x: 0, y: sizes.box + sizes.down });
    expect(boxes[sizes.column]).toMatchObject({ x: 100 + sizes.down, y: 0 });
  });

  it("places the content of a group inside it", () => {
    const { boxes } = layOut([box(1, none, [box(2), box(3, [2])]), box(4, [1])]);
    expect(boxes.map((b) => [b.id, b.parent])).toEqual([
      [1, 0],
      [2, 1],
      [3, 1],
      [4, 0],
    ]);
    const [group, a, b, next] = boxes;
    expect(group!.width).toBe(200 + sizes.across + 2 * sizes.padding);
    expect(a!.y).toBe(sizes.header);
    expect(b!.x + b!.width + sizes.padding).toBe(group!.width);
    expect(next!.x).toBe(group!.width + sizes.across);
  });

  it("places final tasks at the end", () => {
    const { boxes } = layOut([box(1), box(2, [1]), { ...box(3), last: true }]);
    expect(boxes[2]!.x).toBe(2 * (100 + sizes.across));
  });

  it("keeps boxes of a group apart", () => {
    const wide = Array.from({ length: 30 }, (_, i) => box(100 + i, i % 3 === 0 ? none : [99 + i]));
    const { boxes } = layOut([box(1, none, wide), box(2, [1]), box(3, [1], [box(50), box(51, [50])]), box(4, [2, 3])]);
    for (const a of boxes)
      for (const b of boxes) {
        if (a.id >= b.id || a.parent !== b.parent) continue;
        const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
        expect(apart, `${a.id} and ${b.id}`).toBe(true);
      }
  });

  it("draws a barrier as one bar", () => {
    const first = Array.from({ length: 50 }, (_, i) => box(i + 1));
    const all = first.map((b) => b.id);
    const { bars, lines } = layOut([...first, ...Array.from({ length: 50 }, (_, i) => box(51 + i, all))]);
    expect(bars).toHaveLength(1);
    expect(lines).toHaveLength(100);
  });

  it("ignores dependencies that are not drawn", () => {
    expect(layOut([box(2, [1])]).lines).toEqual([]);
  });

  it("places 10,001 tasks, and prints how long that takes", () => {
    const groups = Array.from({ length: 100 }, (_, g) => {
      const tasks = Array.from({ length: 99 }, (_, i) => box(1000 + g * 100 + i, i > 0 && i % 10 === 0 ? [999 + g * 100 + i] : none));
      return box(g + 2, g > 0 ? [g + 1] : none, tasks);
    });
    const begin = performance.now();
    const { boxes } = layOut([box(1, none, groups)]);
    console.log(`${boxes.length} boxes in ${(performance.now() - begin).toFixed(1)} ms`);
    expect(boxes).toHaveLength(10_001);
  });
});
