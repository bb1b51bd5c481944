import { describe, expect, it } from "vitest";
import { type Change, emptyOutline, fold } from "./outline";
import { Past } from "./past";

/** A history of tasks that are made, run and end, one entry a second. */
function history(entries: number): Change[] {
  const states = ["ready", "running", "success", "retry_waiting", "error"];
  return Array.from({ length: entries }, (_, i) => {
    const made = i % 3 === 0;
    const id = Math.floor(i / 3) + 1;
    const parent = id === 1 ? 0 : 1;
    return {
      seq: 10 + 2 * i,
      at: 1000 * i,
      made: made
        ? { id: [id], parent: [parent], name: [`+t${id}`], upstreams: [0], group: [id === 1], resumed: [false], state: ["blocked"], started: [0], changed: [1000 * i], retry: [0], runs: [0], sets: [[]] }
        : null,
      task: made ? [] : [(i * 7) % id + 1],
      state: made ? [] : [states[i % states.length]!],
      runs: made ? [] : [i],
      retry: made ? [] : [0],
    };
  });
}

describe("an attempt as it was", () => {
  it("equals the result of all entries up to it", () => {
    const all = history(1700);
    const past = new Past(all);
    const outline = emptyOutline();
    all.forEach((change, i) => {
      fold(outline, change);
      if (i % 37 === 0 || i % 500 < 2 || i === all.length - 1) expect(past.at(i).tasks, `entry ${i}`).toEqual(outline.tasks);
    });
  });

  it("does not depend on how its history arrived", () => {
    const all = history(24_000);
    const whole = new Past(all);
    const grown = new Past();
    for (let n = 0; n < all.length; n += 1777) grown.add(all.slice(0, n));
    grown.add(all);
    for (const i of [0, 499, 500, 9_999, 10_000, 10_001, 19_999, 20_000, 23_999]) expect(grown.at(i).tasks, `entry ${i}`).toEqual(whole.at(i).tasks);
    const outline = emptyOutline();
    for (const change of all) fold(outline, change);
    expect(grown.at(23_999).tasks).toEqual(outline.tasks);
  });

  it("is empty before its first entry, and without any", () => {
    expect(new Past(history(3)).at(-1).tasks.size).toBe(0);
    expect(new Past([]).at(0).tasks.size).toBe(0);
  });

  it("is not modified by users of a past state", () => {
    const past = new Past(history(900));
    const before = structuredClone(past.at(600).tasks);
    past.at(600).tasks.get(1)!.children.push(12345);
    past.at(600).tasks.get(1)!.state = "mine";
    expect(past.at(600).tasks).toEqual(before);
  });

  it("is found by sequence numbers and times", () => {
    const past = new Past(history(10));
    expect([9, 10, 11, 12, 99].map((seq) => past.indexOf(seq))).toEqual([-1, 0, 0, 1, 9]);
    expect([-1, 0, 1500, 99_999].map((at) => past.indexAt(at))).toEqual([-1, 0, 1, 9]);
  });

  it("shows errors only of tasks that had failed by then", () => {
    const all = history(6);
    const failing = all.findIndex((c) => c.state[0] === "error");
    const task = all[failing]!.task[0]!;
    const past = new Past(all);
    const errors = new Map([[task, "no such table"]]);
    expect(past.at(failing - 1, errors).errors.size).toBe(0);
    expect(past.at(failing, errors).errors.get(task)).toBe("no such table");
  });
});
