import { describe, expect, test } from "vitest";
import { columns } from "./columns.testing";
import { type Change, count, emptyOutline, findTask, firstFailure, fold, isCleaning, lay, shownState, triesOf } from "./outline";

const change = (seq: number, at: number, task: number[], state: string[], runs = task.map(() => 1)): Change => ({
  seq,
  at,
  made: null,
  task,
  state,
  runs,
  retry: task.map(() => 0),
});

describe("outline", () => {
  test("changes turn an outline into a later one", () => {
    const o = emptyOutline();
    lay(o, columns([1, 0, "+wf", "planned"], [2, 1, "+a", "running", 100, 100], [3, 1, "+b", "blocked"]));
    fold(o, change(2, 200, [2, 3], ["success", "running"]));
    fold(o, { ...change(3, 300, [3], ["planned"]), made: columns([4, 3, "^sub", "running", 300, 300]) });
    expect(o.tasks.get(2)).toMatchObject({ state: "success", started: 100, changed: 200, full: "+wf+a" });
    expect(o.tasks.get(3)).toMatchObject({ state: "planned", started: 200, children: [4] });
    expect(o.tasks.get(4)?.full).toBe("+wf+b^sub");
    expect(count(o)).toEqual({ total: 3, done: 1, failed: 0, running: 1, ignored: 0 });
  });

  test("skipped, ignored and waiting tasks are distinguished until they change", () => {
    const o = emptyOutline();
    lay(o, { ...columns([1, 0, "+wf", "planned"], [2, 1, "+a", "success"], [3, 1, "+b", "running"], [4, 1, "+c", "running"]), skipped: [2], waiting: [3] });
    expect([2, 3, 4].map((id) => shownState(o.tasks.get(id)!))).toEqual(["skipped", "waits", "running"]);
    expect(count(o)).toMatchObject({ done: 1, running: 1, ignored: 0 });
    fold(o, change(2, 200, [3], ["running"]));
    fold(o, { ...change(3, 300, [4], ["success"]), ignored: [4] });
    expect([2, 3, 4].map((id) => shownState(o.tasks.get(id)!))).toEqual(["skipped", "running", "ignored"]);
    expect(count(o)).toMatchObject({ done: 2, running: 1, ignored: 1 });
  });

  test("a repeated page creates no duplicate children", () => {
    const o = emptyOutline();
    const page = columns([1, 0, "+wf", "planned"], [2, 1, "+a", "running"]);
    lay(o, page);
    lay(o, page);
    expect(o.tasks.get(1)?.children).toEqual([2]);
  });

  test("cleanup tasks are recognized by name while they run", () => {
    const o = emptyOutline();
    lay(o, columns([1, 0, "+wf", "planned"], [2, 1, "+finally", "running"], [3, 1, "^cancel", "canceled"]));
    expect(isCleaning(o)).toBe(false);
    lay(o, columns([4, 1, "^finally", "planned"]));
    expect(isCleaning(o)).toBe(true);
  });

  test("the first failure is the earliest task that failed itself", () => {
    const o = emptyOutline();
    lay(o, columns([1, 0, "+wf", "group_error", 0, 400], [2, 1, "+a", "error", 100, 300], [3, 1, "+b", "error", 100, 200], [4, 1, "+c", "error", 50, 60]));
    o.errors.set(2, "late").set(3, "early");
    expect(firstFailure(o)?.id).toBe(3);
  });

  test("a task is found by number and by name, the newest if several match", () => {
    const o = emptyOutline();
    lay(o, columns([1, 0, "+wf", "planned"], [2, 1, "+a", "error"], [3, 1, "+a", "success"]));
    expect(findTask(o, "2")?.id).toBe(2);
    expect(findTask(o, "+wf+a")?.id).toBe(3);
    expect(findTask(o, "+wf+z")).toBeNull();
    expect(findTask(o, undefined)).toBeNull();
  });

  test("each run of a task has a start and an end, even if one entry ends it and starts the next", () => {
    const history = [
      { ...change(1, 100, [], []), made: columns([1, 0, "+a", "running", 100, 100]) },
      change(2, 150, [1], ["running"], [2]),
      change(3, 180, [1], ["retry_waiting"], [2]),
      change(4, 300, [1], ["running"], [3]),
      change(5, 350, [1], ["running"], [3]),
      change(6, 400, [1], ["error"], [3]),
    ];
    expect(triesOf(history).get(1)).toEqual([
      { begin: 100, end: 150, state: "retry_waiting" },
      { begin: 150, end: 180, state: "retry_waiting" },
      { begin: 300, end: 400, state: "error" },
    ]);
  });
});
