import { expect, test } from "vitest";
import type { Overview } from "../api/client";
import { type FailedRow, groupFailures, headline } from "./headline";

const row = (id: string, project: string, workflow: string, finished: number) =>
  ({ attempt: { id, project: { id: project, name: project }, workflow: { id: null, name: workflow }, finished }, task: null, message: null }) as unknown as FailedRow;
const overview = (failed: FailedRow[], late: number, running: number) =>
  ({ failed: { rows: failed, all: true }, late: Array(late).fill({}), running: { total: running, rows: [] }, next: { total: 0, rows: [] } }) as unknown as Overview;

test("failures of one workflow are one row with the newest", () => {
  const groups = groupFailures([row("1", "a", "x", 10), row("2", "b", "x", 30), row("3", "a", "x", 20)]);
  expect(groups.map((g) => [g.newest.attempt.id, g.times])).toEqual([["2", 1], ["3", 2]]);
});

test("the headline shows what needs attention", () => {
  expect(headline(overview([], 0, 0))).toBe("Everything is fine.");
  expect(headline(overview([], 0, 2))).toBe("Everything is running fine.");
  expect(headline(overview([row("1", "a", "x", 1), row("2", "a", "x", 2)], 0, 0))).toBe("1 workflow failed.");
  expect(headline(overview([row("1", "a", "x", 1), row("2", "b", "x", 2)], 1, 0))).toBe("2 workflows failed, 1 is late.");
});
