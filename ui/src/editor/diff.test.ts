import { expect, test } from "vitest";
import { count, diff, excerpt } from "./diff";

const shown = (before: string | null, after: string | null) => diff(before, after).map((l) => l.is + l.text);
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `${from + i}\n`).join("");

test("a changed line is removed and added at its place", () => {
  expect(shown("a\nb\nc\n", "a\nB\nc\n")).toEqual([" a", "-b", "+B", " c"]);
  expect(shown("a\nb\nc\nd\n", "b\nc\nx\nd\ne\n")).toEqual(["-a", " b", " c", "+x", " d", "+e"]);
});

test("added and removed files have lines of one kind", () => {
  expect(shown(null, "a\nb\n")).toEqual(["+a", "+b"]);
  expect(shown("a\n", null)).toEqual(["-a"]);
  expect(shown("", null)).toEqual([]);
});

test("both texts can be rebuilt from the difference", () => {
  const before = "x\na\nb\nx\nc\nx\n";
  const after = "a\nx\nb\nc\ny\nx\nx\n";
  const lines = diff(before, after);
  expect(lines.filter((l) => l.is !== "+").map((l) => `${l.text}\n`).join("")).toBe(before);
  expect(lines.filter((l) => l.is !== "-").map((l) => `${l.text}\n`).join("")).toBe(after);
});

test("large, completely different texts are compared quickly", () => {
  const lines = diff(numbers(0, 30_000), numbers(30_000, 60_000));
  expect([count(lines, "-"), count(lines, "+")]).toEqual([30_000, 30_000]);
});

test("an excerpt omits lines far from a change, once per place", () => {
  const lines = diff(numbers(0, 20), numbers(0, 20).replace("10\n", "ten\n"));
  expect(excerpt(lines).map((l) => (l ? l.is + l.text : "…"))).toEqual(["…", " 8", " 9", "-10", "+ten", " 11", " 12", "…"]);
});
