import { expect, test } from "vitest";
import { scaleOf } from "./scale";

const minute = 60_000;

test("the axis is linear without idle periods", () => {
  const s = scaleOf([{ begin: 0, end: 100 }].map((x) => ({ begin: x.begin + 1, end: x.end + 1 })), 1, 101, true);
  expect(s.at(1)).toBe(0);
  expect(s.at(51)).toBeCloseTo(0.5);
  expect(s.at(101)).toBe(1);
  expect(s.gaps).toEqual([]);
});

test("a long idle period is shortened, and the rest keeps order and size", () => {
  const work = [{ begin: minute, end: 2 * minute }, { begin: 62 * minute, end: 63 * minute }];
  const s = scaleOf(work, minute, 63 * minute, true);
  expect(s.gaps).toHaveLength(1);
  expect(s.gaps[0]!.ms).toBe(60 * minute);
  expect(s.at(2 * minute)).toBeCloseTo(0.485);
  expect(s.at(62 * minute)).toBeCloseTo(0.515);
  expect(s.at(63 * minute)).toBeCloseTo(1);
  for (let ms = minute, last = -1; ms <= 63 * minute; ms += 10_000) {
    expect(s.at(ms)).toBeGreaterThan(last);
    last = s.at(ms);
  }
  expect(s.ticks.some((t) => t.ms > 3 * minute && t.ms < 61 * minute)).toBe(false);
  expect(scaleOf(work, minute, 63 * minute, false).gaps).toEqual([]);
});

test("times outside of the axis are clamped", () => {
  const s = scaleOf([], 1000, 2000, true);
  expect([s.at(0), s.at(5000)]).toEqual([0, 1]);
});

test("a short axis counts from its beginning", () => {
  expect(scaleOf([{ begin: 1003, end: 1103 }], 1003, 1103, true).ticks.map((t) => t.ms - 1003)).toEqual([0, 20, 40, 60, 80, 100]);
});
