import { statSync } from "node:fs";
import { pictures } from "./looks";
import { expect, test } from "./test";

// The pictures of README: `make console-pictures` takes them again, and makes the film, which takes longer than a test should.

const daily = `timezone: Asia/Tokyo
schedule:
  daily>: 07:00:00
+prepare:
  echo>: preparing \${session_date}
+load:
  _parallel: true
  +orders:
    sh>: sh load.sh orders 0.06 \${session_date}
  +customers:
    sh>: sh load.sh customers 0.09 \${session_date}
  +events:
    _retry: 1
    sh>: sh load.sh events 0.04 \${session_date}
+check:
  for_each>: {table: [orders, customers, events]}
  _do:
    sh>: sh load.sh \${table} 0.02
+report:
  sh>: sh load.sh report 0.03
`;

const load = `#!/bin/sh
for part in 1 2 3 4 5 6; do echo "$1: part $part of 6, $((part * 1831)) rows"; done
sleep $2
case "$1 $3" in
"events "*-1[19])
  echo 'psql: ERROR:  relation "events_v2" does not exist' >&2
  echo 'LINE 1: insert into events_v2 select * from staging.events' >&2
  echo '                    ^' >&2
  exit 1
  ;;
esac
`;

test("the pictures of README", async ({ page, serve }) => {
  const server = await serve();
  server.push("sales", { "daily_load.dig": daily, "load.sh": load, "hourly_sync.dig": "schedule:\n  hourly>: '15:00'\n+sync:\n  echo>: synced\n" });
  const attempts: string[] = [];
  for (let d = 1; d <= 19; d++) {
    const attempt = server.begin("sales", "daily_load", "--session", `2026-11-${String(d).padStart(2, "0")}`);
    await server.over(attempt);
    attempts.push(attempt);
    if (d === 18) server.push("sales", { "daily_load.dig": daily.replace("preparing", "preparing the load of") });
  }
  server.push("crm", { "export.dig": "+wait:\n  sh>: sleep 600\n+send:\n  echo>: sent\n" });
  server.begin("crm", "export", "--session", "2026-11-20");
  const failed = attempts.at(-1)!;
  const { projects } = await server.get<{ projects: { id: string }[] }>("/api/projects?name=sales");
  await page.setViewportSize({ width: 1280, height: 760 });
  for (const theme of ["light", "dark"] as const) {
    const take = async (name: string) => {
      await page.evaluate(() => document.fonts.ready);
      await page.screenshot({ path: `${pictures}/readme-${name}-${theme}.png`, animations: "disabled" });
    };
    await page.emulateMedia({ colorScheme: theme });
    await page.goto(server.url);
    await expect(page.getByRole("region", { name: "Failed" })).toContainText("sales/daily_load");
    await expect(page.getByRole("region", { name: "Next" })).toContainText("sales/hourly_sync");
    await take("home");
    await page.getByRole("link", { name: "Log" }).first().click();
    await expect(page.getByRole("log").getByText('relation "events_v2" does not exist').first()).toBeVisible();
    await page.getByRole("button", { name: /since the last success/ }).click();
    await take("attempt");
    await page.goto(`${server.url}/projects/${projects[0]!.id}/daily_load`);
    await page.getByRole("button", { name: "Open +load" }).click();
    await page.locator(`[href^="/attempts/${failed}?task="]`).first().hover();
    await expect(page.getByRole("complementary", { name: "The session" })).toContainText("Since the last success");
    await take("workflow");
  }
});

/** No film is larger, in bytes: a page of a repository is read on the way, too. */
const largestFilm = 1_500_000;

if (process.env.ZERODAG_FILM) {
  test("the film of a diagnosis", async ({ page, serve }) => {
    const server = await serve();
    server.push("sales", { "daily_load.dig": daily, "load.sh": load });
    for (const day of [16, 17, 18]) await server.over(server.begin("sales", "daily_load", "--session", `2026-11-${day}`));
    server.push("sales", { "daily_load.dig": daily.replace("preparing", "preparing the load of"), "load.sh": load });
    await server.over(server.begin("sales", "daily_load", "--session", "2026-11-19"));
    await page.setViewportSize({ width: 1120, height: 690 });
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    await page.goto(server.url);
    await expect(page.getByRole("group", { name: "Last lines of the log" })).toBeVisible();
    const { Film } = await import("./film"); // with what makes films of pictures, which no other test needs
    const film = new Film(page);
    await film.show(3_000);
    await film.press(page.getByRole("link", { name: "Log" }).first());
    await expect(page.getByRole("log").getByText('relation "events_v2" does not exist').first()).toBeVisible();
    await film.show(3_500);
    await film.press(page.getByRole("button", { name: /since the last success/ }));
    await film.show(3_500);
    // Somebody makes the table; what runs then takes long enough to be seen.
    const mended = load.replace("sleep $2", "sleep $(awk \"BEGIN {print 25 * $2}\")").replace('"events "*-1[19])', "never)");
    server.push("sales", { "daily_load.dig": daily.replace("preparing", "preparing the load of"), "load.sh": mended });
    await film.press(page.getByRole("button", { name: "Retry failed" }));
    await expect(page.getByRole("dialog")).toBeVisible();
    await film.show(3_000);
    const failed = page.url();
    await film.press(page.getByRole("dialog").getByRole("button", { name: "Retry failed" }));
    await expect(page).not.toHaveURL(failed);
    await expect(page.getByRole("treeitem").first()).toBeVisible();
    await film.watch(6_000, 250);
    await expect(page.getByText("done", { exact: true }).first()).toBeVisible();
    await film.show(4_000);
    await film.press(page.getByRole("link", { name: "Home", exact: true }));
    await expect(page.getByText(/Nothing failed/)).toBeVisible();
    await film.show(3_500);
    const path = `${pictures}/readme-film.webp`;
    const took = await film.write(path);
    expect(took).toBeGreaterThan(25_000);
    expect(took).toBeLessThan(40_000);
    expect(statSync(path).size).toBeLessThan(largestFilm);
  });
}
