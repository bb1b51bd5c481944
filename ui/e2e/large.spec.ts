import type { Page } from "@playwright/test";
import { expect, test } from "./test";

// What is large is shown whole. How long it takes is printed, and no reason to fail: the machine may be busy.

const print = (what: string, ms: number) => console.log(`${what}: ${ms.toFixed(0)} ms`);

/** The longest time between two frames while something is done, and the time that 95 of 100 lie below. */
async function frames(page: Page, during: () => Promise<void>): Promise<{ longest: number; most: number }> {
  await page.evaluate(() => {
    const seen: number[] = [];
    Object.assign(window, { seenFrames: seen });
    let last = performance.now();
    const look = (now: number) => {
      seen.push(now - last);
      last = now;
      if ("seenFrames" in window) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await during();
  const seen = await page.evaluate(() => {
    const { seenFrames } = window as unknown as { seenFrames: number[] };
    delete (window as unknown as { seenFrames?: number[] }).seenFrames;
    return seenFrames;
  });
  seen.sort((a, b) => a - b);
  return { longest: seen.at(-1) ?? 0, most: seen[Math.floor(seen.length * 0.95)] ?? 0 };
}

test("an attempt of 10,000 tasks is shown and scrolled", async ({ page, serve }) => {
  const server = await serve("-X", "io.digdag.limits.maxWorkflowTasks=20000");
  server.push("large", { "large.dig": "+all:\n  _parallel: true\n  loop>: 100\n  _do:\n    +inner:\n      loop>: 99\n      _do:\n        echo>: ${i}\n" });
  const attempt = server.begin("large", "large", "--session", "2026-11-20");
  await server.over(attempt);
  const begin = Date.now();
  await page.goto(`${server.url}/attempts/${attempt}`);
  await expect(page.getByRole("treeitem").first()).toBeVisible();
  print("10,000 tasks, first row", Date.now() - begin);
  await expect(page.getByText(/of [0-9,]{5,} tasks/)).toBeVisible();
  const tree = page.getByRole("tree", { name: "Tasks" });
  await tree.focus();
  const { longest, most } = await frames(page, async () => {
    for (let i = 0; i < 60; i++) await page.mouse.wheel(0, 400);
  });
  print("a frame while it scrolls, 95 of 100 within", most);
  print("the longest of them", longest);
});

test("a log of 100 MB is read, searched and scrolled", async ({ page, serve }) => {
  const server = await serve();
  server.push("long", { "long.dig": "+say:\n  sh>: i=0; while [ $i -lt 100 ]; do seq -f \"part $i line %.0f of many more that say the same thing again\" 1 16500; i=$((i+1)); done; echo THE END\n" });
  const attempt = server.begin("long", "long", "--session", "2026-11-20");
  await server.over(attempt);
  const begin = Date.now();
  await page.goto(`${server.url}/attempts/${attempt}?task=${encodeURIComponent("+long+say")}&tab=log`);
  await expect(page.getByText("part 0 line 1 of many").or(page.getByText(/line [0-9]+ of many/)).first()).toBeVisible({ timeout: 120_000 });
  print("100 MB, first line", Date.now() - begin);
  const { longest } = await frames(page, async () => {
    await page.getByRole("button", { name: "Follow the end" }).click();
    await expect(page.getByText("THE END").first()).toBeVisible({ timeout: 120_000 });
  });
  print("all of it", Date.now() - begin);
  print("the longest frame meanwhile", longest);
  const search = Date.now();
  await page.getByRole("searchbox", { name: "Search the log" }).fill("part 99 line 16499 ");
  await expect(page.getByText(/1\/1|1 of 1/).first()).toBeVisible({ timeout: 120_000 });
  print("a search of all, with the pause after typing", Date.now() - search);
});
