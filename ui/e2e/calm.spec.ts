import type { Page, Request } from "@playwright/test";
import { expect, open, test } from "./test";

// What a page asks for while nothing happens, and how little moves while what it asked for comes.

/** Adds up how far what is shown was moved by what came later, as browsers do: 0 is nothing, 1 the whole screen. */
async function watchShifts(page: Page) {
  await page.addInitScript(() => {
    const w = window as unknown as { shifted: number; shifts: string[] };
    w.shifted = 0;
    w.shifts = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as unknown as { value: number; hadRecentInput: boolean; sources: { node: Element | null }[] }[]) {
        if (entry.hadRecentInput) continue;
        w.shifted += entry.value;
        w.shifts.push(`${entry.value.toFixed(3)} ${entry.sources.map((s) => s.node?.outerHTML?.slice(0, 80)).join(" | ")}`);
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
}

const shiftsOf = (page: Page) =>
  page.evaluate(() => {
    const { shifted, shifts } = window as unknown as { shifted: number; shifts: string[] };
    return { shifted, shifts };
  });

/** How late answers come, in milliseconds: what is there before them has been drawn by then. */
const late = 300;

for (const width of [1440, 375]) {
  test(`the layout is stable at ${width} pixels during loading`, async ({ page, examples, server }) => {
    await watchShifts(page);
    await page.setViewportSize({ width, height: width === 375 ? 812 : 900 });
    // Answers come one after the other, and slowly, as over a long way.
    await page.route("**/api/**", async (r) => {
      await new Promise((done) => setTimeout(done, late));
      await r.continue().catch(() => {}); // the page may have gone
    });
    // A session with two attempts: ways to both of them come, too.
    const again = /attempt id: ([0-9]+)/.exec(server.cli("retry", examples.hostile, "--resume", "--latest-revision", "--output", "digdag"))![1]!;
    await server.over(again);
    const { projects } = await server.get<{ projects: { id: string }[] }>("/api/projects?name=sales");
    const looks: [string, () => Promise<void>][] = [
      ["/", () => expect(page.getByRole("group", { name: "Last lines of the log" }).first()).toBeVisible()],
      [`/attempts/${again}`, () => expect((width === 375 ? page.getByRole("region", { name: "Why it failed" }) : page.getByRole("log")).getByText("red").first()).toBeVisible()],
      [`/projects/${projects[0]!.id}/nightly`, () => expect(width === 375 ? page.getByRole("list", { name: "Sessions" }) : page.getByRole("complementary", { name: "The session" })).toBeVisible()],
    ];
    for (const [path, there] of looks) {
      await page.goto(path);
      await there();
      await page.waitForLoadState("networkidle");
      const { shifted, shifts } = await shiftsOf(page);
      expect(shifted, `${path}: ${shifts.join("\n")}`).toBeLessThan(0.1);
    }
  });
}

test.describe("on AWS, where each request costs money", () => {
  test.use({ session: { ...open, live: "poll", aws: true } });

  /** Counts the requests of a page from now on, by a clock that the test turns. */
  async function countedMinutes(page: Page, minutes: number): Promise<string[]> {
    const asked: string[] = [];
    const waiting = new Set<Request>();
    const sent = (r: Request) => {
      if (!new URL(r.url()).pathname.startsWith("/api/")) return;
      asked.push(r.url());
      waiting.add(r);
    };
    const over = (r: Request) => void waiting.delete(r);
    page.on("request", sent).on("requestfinished", over).on("requestfailed", over);
    for (let second = 0; second < minutes * 60; second += 5) {
      await page.clock.runFor(5_000);
      await expect.poll(() => waiting.size).toBe(0); // the next one is asked for once this was answered
      await page.evaluate(() => {}); // what the page does with an answer is done
    }
    page.off("request", sent).off("requestfinished", over).off("requestfailed", over);
    return asked;
  }

  test("a hidden page sends no requests, and a visible one at most six a minute", async ({ page, examples }) => {
    await page.clock.install();
    // Nothing runs, whatever other tests do on this server.
    const nothing = { at: Date.now(), running: { total: 0, rows: [] }, failed: { all: true, rows: [] }, late: [], next: { total: 0, rows: [] } };
    await page.route("**/api/x/overview*", (r) => r.fulfill({ json: nothing }));
    for (const path of ["/", "/sessions", "/projects", `/attempts/${examples.failed}`]) {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await page.waitForLoadState("networkidle");
      await page.clock.runFor(1_000);
      await page.waitForLoadState("networkidle");
      const asked = await countedMinutes(page, 2);
      expect(asked.length, `${path}: ${asked.join("\n")}`).toBeLessThanOrEqual(12);
      if (path === "/") expect(asked.length, "it goes on to look").toBeGreaterThan(8);
      await page.evaluate(() => {
        Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
        Object.defineProperty(document, "hidden", { value: true, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      });
      await countedMinutes(page, 1 / 12); // what was asked for just before is answered
      expect(await countedMinutes(page, 2), `${path}, hidden`).toEqual([]);
    }
  });
});
