import { describe, expect, it } from "vitest";
import { emptyOutline, lay, type Outline } from "../live/outline";
import { boxesFor, boxesOf, mostBoxes, openAtFirst, talliesOf } from "./opened";

/** An attempt with groups of so many tasks, in the states of `states` by the number of the group. */
function attempt(groups: number[], states: string[] = []): Outline {
  const outline = emptyOutline();
  const add = (id: number, parent: number, state: string) =>
    lay(outline, { id: [id], parent: [parent], name: [`+t${id}`], upstreams: [0], group: [false], resumed: [false], state: [state], started: [0], changed: [0], retry: [0], runs: [0], sets: [[]] });
  add(1, 0, states.includes("group_error") ? "group_error" : "success");
  groups.forEach((tasks, g) => {
    const state = states[g] ?? "success";
    add(10_000 * (g + 1), 1, state);
    for (let i = 1; i <= tasks; i++) add(10_000 * (g + 1) + i, 10_000 * (g + 1), state === "group_error" && i === 1 ? "error" : "success");
  });
  return outline;
}

describe("the drawn part of an attempt", () => {
  it("is everything that fits", () => {
    const outline = attempt([3, 4]);
    const open = openAtFirst(outline);
    expect([...open]).toEqual([1, 10_000, 20_000]);
    expect(boxesOf(outline, open)).toBe(10);
  });

  it("opens failed groups first, within the limit", () => {
    const outline = attempt([300, 300, 300], ["success", "group_error", "success"]);
    const open = openAtFirst(outline);
    expect([...open]).toEqual([1, 20_000]);
    expect(boxesOf(outline, open)).toBeLessThanOrEqual(mostBoxes);
  });

  it("keeps a large group closed and opens its siblings", () => {
    expect([...openAtFirst(attempt([5000, 5]))]).toEqual([1, 20_000]);
  });

  it("counts the tasks below a group, drawn or not", () => {
    const tallies = talliesOf(attempt([2, 3], ["success", "group_error"]));
    expect(tallies.get(1)).toEqual({ total: 5, done: 4, failed: 1, running: 0 });
    expect(tallies.get(20_000)).toEqual({ total: 3, done: 2, failed: 1, running: 0 });
  });

  it("nests the boxes of open groups", () => {
    const [root] = boxesFor(attempt([2, 3]), new Set([1, 20_000]));
    expect(root!.children!.map((box) => box.children?.length ?? null)).toEqual([null, 3]);
  });
});
