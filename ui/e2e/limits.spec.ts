import { look, looks } from "./looks";
import { expect, test } from "./test";

const gated = `zerodag: 1
+first:
  _pool: warehouse
  sh>: sleep 1000
`;

const marks = `zerodag: 1
+monday:
  _if: \${1 == 2}
  echo>: only on Mondays
+optional:
  _ignore_error: true
  fail>: the report of last month is gone
+last:
  echo>: done
`;

test("a pool is created, held and changed, and waiting tasks show the reason", async ({ page, serve }) => {
  const server = await serve();
  await page.goto(`${server.url}/admin?tab=pools`);
  await expect(page.getByText("There are no pools yet.")).toBeVisible();
  await page.getByRole("button", { name: "Create a pool" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("warehouse");
  await expect(dialog.locator("code")).toHaveText("zerodag pool set warehouse 1");
  await dialog.getByRole("button", { name: "Create" }).click();
  await expect(page.getByRole("row", { name: /warehouse site 1/ })).toBeVisible();

  server.push("shop", { "load.dig": gated, "marks.dig": marks, "one.dig": `${gated.replace("_pool: warehouse", "_priority: high")}concurrency: {attempts: 1}\n` });
  const attempts = [1, 2, 3].map((day) => server.begin("shop", "load", "--session", `2026-11-0${day}`));
  await page.getByRole("button", { name: "Queue of warehouse" }).click();
  await expect(page.getByText("1 of 1 slots in use")).toBeVisible();
  await expect(page.getByText("2 waiting, first in line first")).toBeVisible();
  for (const { theme, width } of looks) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 800 });
    await look(page, "pools", width, theme);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("button", { name: "Hold warehouse" }).click();
  await expect(page.getByRole("row", { name: /warehouse site 1 · held/ })).toBeVisible();
  await page.getByRole("link", { name: `task 2 of attempt ${attempts[2]}` }).click();
  await expect(page.getByRole("status").filter({ hasText: "Waiting for a slot of pool warehouse, which is held" })).toContainText("1 ahead");
  await expect(page.getByRole("treeitem", { name: /\+first/ })).toContainText("waits");
  await look(page, "waits", 1440, "dark");
  server.cli("kill", attempts[1]!);
  await expect(page.getByText("next in line")).toBeVisible({ timeout: 15_000 });

  await page.goto(`${server.url}/admin?tab=pools`);
  await page.getByRole("button", { name: "Release warehouse" }).click();
  await page.getByRole("button", { name: "Slots of warehouse" }).click();
  await dialog.getByLabel("Slots").fill("2");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("row", { name: /warehouse site 2/ })).toBeVisible();
  await page.goto(`${server.url}/attempts/${attempts[2]}`);
  await expect(page.getByRole("treeitem", { name: /\+first/ }).getByRole("img", { name: "running" })).toBeVisible();

  server.begin("shop", "one", "--session", "2026-11-01");
  const second = server.begin("shop", "one", "--session", "2026-11-02");
  await page.goto(`${server.url}/attempts/${second}?task=1`);
  await expect(page.getByText("waiting for its turn", { exact: true })).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "allows no more attempts" })).toContainText("next in line");

  await page.goto(`${server.url}/admin?tab=pools`);
  for (const a of [attempts[0]!, attempts[2]!]) {
    server.cli("kill", a);
    await server.over(a);
  }
  await page.getByRole("button", { name: "Delete warehouse" }).click();
  await dialog.getByLabel(/to confirm/).fill("warehouse");
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page.getByRole("row", { name: /warehouse/ })).toHaveCount(0);
});

test("skipped tasks and ignored errors differ from successes", async ({ page, server }) => {
  server.push("marks", { "marks.dig": marks });
  const attempt = server.begin("marks", "marks", "--session", "2026-11-01");
  await server.over(attempt);
  await page.goto(`/attempts/${attempt}`);
  await expect(page.getByText("succeeded, with 1 ignored error", { exact: true })).toBeVisible();
  await expect(page.getByRole("treeitem", { name: /\+monday/ }).getByRole("img", { name: "skipped" })).toBeVisible();
  await expect(page.getByRole("treeitem", { name: /\+optional/ }).getByRole("img", { name: /ignored/ })).toBeVisible();
  await page.getByRole("treeitem", { name: /\+monday/ }).click();
  await expect(page.getByText('Skipped: _if is "false"')).toBeVisible();
  await page.getByRole("treeitem", { name: /\+optional/ }).click();
  await expect(page.getByText("its error is ignored")).toBeVisible();
  await expect(page.getByText("the report of last month is gone").first()).toBeVisible();
  for (const { theme, width } of looks) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 800 });
    await look(page, "ignored", width, theme);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("button", { name: "Graph" }).click();
  await expect(page.getByRole("img", { name: "skipped" }).first()).toBeVisible();
});

const past = `zerodag: 1
schedule: {daily>: "02:00:00"}
+wait:
  _if: \${session_date > '2026-11-02'}
  sh>: test \${session_date} != 2026-11-03 && sleep 1000
`;

test("a backfill is shown as a unit, held, released and killed", async ({ page, serve }) => {
  const server = await serve();
  server.push("shop", { "past.dig": past });
  const { projects } = await server.get<{ projects: { id: string }[] }>("/api/projects");
  const url = `${server.url}/projects/${projects[0]!.id}/past?tab=backfills`;
  await page.goto(url);
  await expect(page.getByText("This workflow has no backfills yet")).toBeVisible();
  server.cli("backfill", "shop", "past", "--from", "2026-11-01", "--to", "2026-11-08", "--parallel", "2");
  const row = page.getByRole("listitem", { name: /^Backfill [0-9]+$/ });
  await page.goto(url);
  await expect(row).toContainText("2 succeeded, 1 failed, 2 running, 3 pending", { timeout: 30_000 });
  await expect(row).toContainText("8 sessions, 2 in parallel");
  await row.getByRole("button", { name: "Hold" }).click();
  await expect(row).toContainText("held: no further sessions start");
  for (const { theme, width } of looks) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 800 });
    await look(page, "backfills", width, theme);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await row.getByRole("button", { name: "Release" }).click();
  await expect(row.getByRole("button", { name: "Hold" })).toBeVisible();
  await row.getByRole("button", { name: "Kill…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("2 running sessions are killed. 3 sessions will never run.");
  await dialog.getByRole("button", { name: "Kill" }).click();
  await expect(row).toContainText("killed", { timeout: 15_000 });
  await expect(row).toContainText("3 never started", { timeout: 15_000 });
  await row.getByRole("link", { name: /^attempt / }).first().click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("past");
});

const parts = `+load:
  sh>: test -f \${marker}
+check:
  echo>: checked
+publish:
  echo>: published
`;

test("part of an attempt is rerun, and skipped tasks run later", async ({ page, serve }) => {
  const server = await serve();
  server.push("shop", { "parts.dig": parts, "yellow.dig": marks });
  const failed = server.begin("shop", "parts", "--session", "2026-11-01", "-p", "marker=/nowhere/at/all");
  await server.over(failed);
  await page.goto(`${server.url}/attempts/${failed}?task=2`);
  await page.getByRole("button", { name: "Run again" }).click();
  const dialog = page.getByRole("dialog");
  const plan = (kind: string) => dialog.locator("dt", { hasText: kind }).locator("xpath=following-sibling::dd[1]").locator("code").allTextContents();
  await expect.poll(() => plan("Skipped")).toEqual(["+check", "+publish"]);
  await dialog.getByRole("radio", { name: /All failed tasks except this one/ }).check();
  await expect(dialog.locator("code").last()).toHaveText(`zerodag retry ${failed} --mark-success +parts+load --latest-revision`);
  await expect.poll(() => plan("Runs")).toEqual(["+check", "+publish"]);
  await dialog.getByRole("radio", { name: /This task and all/ }).check();
  await expect.poll(() => plan("Runs")).toEqual(["+load", "+check", "+publish"]);
  await dialog.getByRole("button", { name: "Cancel" }).click();

  await page.goto(`${server.url}/attempts/${failed}?task=3`);
  await page.getByRole("button", { name: "Run again" }).click();
  await expect(dialog.getByRole("radio", { name: /This task and all/ })).toHaveCount(0);
  await expect.poll(() => plan("Runs")).toEqual(["+check"]);
  for (const { theme, width } of looks) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 800 });
    await look(page, "part", width, theme);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await dialog.getByRole("button", { name: "Run" }).click();
  await expect(page).not.toHaveURL(new RegExp(`/attempts/${failed}\\b`));
  await expect(page.getByRole("treeitem", { name: /\+publish/ }).getByRole("img", { name: "skipped" })).toBeVisible();
  await expect(page.getByRole("treeitem", { name: /\+check/ }).getByRole("img", { name: "done" })).toBeVisible();

  await server.over(server.begin("shop", "yellow", "--session", "2026-11-01"));
  server.cli("pause", server.begin("shop", "parts", "--session", "2026-11-02", "-p", "marker=/", "--at", new Date(Date.now() + 3_600_000).toISOString()));
  await page.goto(`${server.url}/sessions`);
  await expect(page.getByRole("img", { name: "succeeded, with an ignored error" })).toBeVisible();
  await expect(page.getByText("paused", { exact: true })).toBeVisible();
  await look(page, "standing", 1440, "light");
});

test("a project is paused with a visible reason, and resumed", async ({ page, serve }) => {
  const server = await serve();
  server.push("shop", { "night.dig": "schedule:\n  daily>: 03:00:00\n+a:\n  echo>: a\n", "parts.dig": parts });
  await page.goto(`${server.url}/projects`);
  await page.getByRole("link", { name: /shop/ }).click();
  await page.getByRole("button", { name: "Pause" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Why").fill("the warehouse is down until Monday");
  await look(page, "pause-project", 1440, "light");
  await expect(dialog.locator("code").last()).toHaveText("zerodag project pause shop");
  await dialog.getByRole("button", { name: "Pause" }).click();
  await expect(page.getByText("No attempts of this project start.")).toContainText("the warehouse is down until Monday");
  for (const { theme, width } of looks) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 800 });
    await look(page, "paused-project", width, theme);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  expect(() => server.cli("start", "shop", "parts", "--session", "2026-11-01")).toThrow(/Project shop has been paused since/);
  await page.goto(`${server.url}/projects`);
  await expect(page.getByRole("link", { name: /shop/ })).toContainText("paused by an unknown user: the warehouse is down until Monday");
  await look(page, "paused-projects", 1440, "light");
  await page.getByRole("link", { name: /shop/ }).click();
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByText("No attempts of this project start.")).toHaveCount(0);
  server.begin("shop", "parts", "--session", "2026-11-01", "-p", "marker=/");
});
