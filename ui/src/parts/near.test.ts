import { expect, test } from "vitest";
import { nearest } from "./near";

const near = (wanted: string, ...names: string[]) => nearest(wanted, names, (n) => n);

test("close names come first, distant ones are omitted", () => {
  expect(near("nigthly", "hourly", "nightly", "weekly", "x")).toEqual(["nightly"]);
  expect(near("daily", "daily_load", "Daily", "report")).toEqual(["daily_load", "Daily"]);
  expect(near("daily_load_old", "daily_load")).toEqual(["daily_load"]);
  expect(near("dialy", "daily", "early")).toEqual(["daily"]);
  expect(near("a", "b", "c")).toEqual(["b", "c"]);
  expect(near("sales", "crm")).toEqual([]);
  expect(near("", "sales")).toEqual([]);
});

test("long names are compared quickly", () => {
  const names = Array.from({ length: 2000 }, (_, i) => `${"x".repeat(5000)}${i}`);
  expect(near("x".repeat(9000), ...names)).toHaveLength(5);
});
