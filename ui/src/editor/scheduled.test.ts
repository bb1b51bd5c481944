import { expect, test } from "vitest";
import { rescheduled, schedulesOf } from "./scheduled";

const of = (workflow: string, schedule: Record<string, unknown>, timezone = "UTC") => ({ workflow, timezone, schedule });

test("changed, added and removed schedules are listed", () => {
  const before = [of("nightly", { "daily>": "02:00:00" }), of("hourly", { "hourly>": "15:00" }), of("old", { "cron>": "0 1 * * *" }), of("zone", { "daily>": "01:00:00" })];
  const after = [of("new", { "minutes_interval>": 5 }), of("hourly", { "hourly>": "15:00" }), of("nightly", { "daily>": "03:00:00", skip_delayed_by: "1h" }), of("zone", { "daily>": "01:00:00" }, "Asia/Tokyo")];
  expect(rescheduled(before, after)).toEqual([
    { workflow: "new", from: null, to: "minutes_interval> 5 (UTC)" },
    { workflow: "nightly", from: "daily> 02:00:00 (UTC)", to: "daily> 03:00:00, skip_delayed_by 1h (UTC)" },
    { workflow: "old", from: "cron> 0 1 * * * (UTC)", to: null },
    { workflow: "zone", from: "daily> 01:00:00 (UTC)", to: "daily> 01:00:00 (Asia/Tokyo)" },
  ]);
  expect(rescheduled(before, before)).toEqual([]);
});

test("workflows without a schedule have none", () => {
  const workflow = (name: string, config: Record<string, never>) => ({ id: "1", name, project: { id: "1", name: "p" }, revision: "r", timezone: "UTC", config });
  expect(schedulesOf([workflow("a", {}), workflow("b", { schedule: { "daily>": "07:00:00" } } as never)])).toEqual([of("b", { "daily>": "07:00:00" })]);
});
