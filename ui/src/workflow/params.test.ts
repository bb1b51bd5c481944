import { describe, expect, it } from "vitest";
import { readParams, utcTime, zonedTime } from "./params";

describe("parameters of a start", () => {
  it("are an object", () => {
    expect(readParams('{"a": [1]}')).toEqual({ params: { a: [1] }, error: null });
    expect(readParams("  ")).toEqual({ params: {}, error: null });
  });
  it("are otherwise rejected with a reason", () => {
    for (const text of ["{", "[]", "null", "1", '"a"']) expect(readParams(text).error, text).toBeTruthy();
  });
});

describe("a chosen session time", () => {
  it("has the offset of the zone at that time", () => {
    expect(zonedTime("2026-11-20T00:00", "Asia/Tokyo")).toBe("2026-11-20T00:00:00+09:00");
    expect(zonedTime("2026-01-15T12:30", "America/New_York")).toBe("2026-01-15T12:30:00-05:00");
    expect(zonedTime("2026-07-15T12:30", "America/New_York")).toBe("2026-07-15T12:30:00-04:00");
    expect(zonedTime("2026-07-15T12:30:05", "UTC")).toBe("2026-07-15T12:30:05+00:00");
    expect(zonedTime("2026-07-15T12:30", "Asia/Kolkata")).toBe("2026-07-15T12:30:00+05:30");
  });
  it("is correct around clock changes", () => {
    expect(zonedTime("2026-03-29T01:30", "Europe/Berlin")).toBe("2026-03-29T01:30:00+01:00");
    expect(zonedTime("2026-03-29T03:30", "Europe/Berlin")).toBe("2026-03-29T03:30:00+02:00");
    expect(zonedTime("2026-10-25T04:00", "Europe/Berlin")).toBe("2026-10-25T04:00:00+01:00");
  });
  it("has no fractions of a second", () => expect(utcTime(Date.UTC(2026, 10, 23, 1, 2, 3, 456))).toBe("2026-11-23T01:02:03+00:00"));
});
