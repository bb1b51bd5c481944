import { expect, test } from "vitest";
import type { Brief } from "../api/client";
import { neighbourOf, type ReadPage } from "./neighbours";

const day = 86_400_000;
const base = Date.parse("2026-11-20T00:00:00Z");

/** A server with sessions of these times, whose ids go up in this order, and that tells so many at once. */
function serverOf(times: number[], many = 3): { read: ReadPage; asked: () => number } {
  const all = times.map((at, i) => ({ id: String(i + 1), sessionId: String(i + 1), sessionTime: new Date(at).toISOString() }) as unknown as Brief).reverse();
  let asked = 0;
  const read: ReadPage = async ({ from, to }, before) => {
    asked++;
    const found = all.filter((s) => Date.parse(s.sessionTime) >= from && Date.parse(s.sessionTime) < to && (before === null || Number(s.sessionId) < Number(before)));
    return { sessions: found.slice(0, many), next: found.length > many ? found[many - 1]!.sessionId : null };
  };
  return { read, asked: () => asked };
}

const timeOf = async (step: 1 | -1, times: number[], many?: number) => {
  const found = await neighbourOf(base, step, serverOf(times, many).read);
  return found && Date.parse(found.sessionTime) - base;
};

test("the neighbour is the nearest session by time, not by creation", async () => {
  const times = [base, base + 3 * day, base + day, base - 3 * day, base - day, base + 2 * day];
  expect(await timeOf(1, times)).toBe(day);
  expect(await timeOf(-1, times)).toBe(-day);
});

test("frequent sessions are found within the first hours, and all pages are read", async () => {
  const minutes = Array.from({ length: 9 }, (_, i) => base + (i - 4) * 60_000);
  expect(await timeOf(1, minutes, 2)).toBe(60_000);
  expect(await timeOf(-1, minutes, 2)).toBe(-60_000);
});

test("the first and last sessions have no neighbour, and the search is limited", async () => {
  expect(await timeOf(1, [base])).toBeNull();
  expect(await timeOf(-1, [base])).toBeNull();
  const endless = serverOf(Array.from({ length: 500 }, (_, i) => base + (i + 1) * 1000), 1);
  await neighbourOf(base, 1, endless.read);
  expect(endless.asked()).toBeLessThanOrEqual(8);
});
