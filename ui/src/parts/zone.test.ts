import { expect, test } from "vitest";
import { formatDistance, formatDuration, formatTime, placeName, readOffsetTime } from "./zone";

const at = Date.parse("2026-03-01T20:30:05Z");

test("times are formatted in their zone", () => {
  expect(formatTime(at, "UTC", "full")).toBe("2026-03-01 20:30:05");
  expect(formatTime(at, "Asia/Tokyo", "minute")).toBe("2026-03-02 05:30");
  expect(formatTime(at, -330, "clock")).toBe("15:00:05");
  expect(formatTime(Date.parse("2026-03-01T00:00:00Z"), "UTC", "clock")).toBe("00:00:00");
});

test("short times omit the parts that equal the current time", () => {
  expect(formatTime(at, "UTC", "short", at + 1000)).toBe("20:30");
  expect(formatTime(at, "UTC", "short", at + 86_400_000)).toBe("03-01 20:30");
  expect(formatTime(at, "UTC", "short", at + 400 * 86_400_000)).toBe("2026-03-01 20:30");
});

test("session times keep their offset", () => {
  expect(readOffsetTime("2026-03-01T00:00:00+09:00")).toEqual({ at: Date.parse("2026-02-28T15:00:00Z"), offset: 540 });
  expect(readOffsetTime("2026-03-01T00:00:00-03:30").offset).toBe(-210);
  expect([placeName(540), placeName(-210), placeName("UTC")]).toEqual(["+09:00", "−03:30", "UTC"]);
});

test("durations and distances have one or two units", () => {
  expect([0, 41, 999, 1000, 3_240, 59_900, 192_000, 7_500_000, 356_400_000].map(formatDuration)).toEqual(["0ms", "41ms", "999ms", "1.0s", "3.2s", "59s", "3m12s", "2h05m", "4d03h"]);
  expect([5_000, 90_000, -180_000, 7_200_000, 260_000_000].map(formatDistance)).toEqual(["5 s ago", "1 min ago", "in 3 min", "2 h ago", "3 d ago"]);
});
