import { look, looks } from "./looks";
import { expect, test } from "./test";

// A workflow of its own, whose sessions no other test starts.
const text = `timezone: Asia/Tokyo
schedule:
  daily>: 07:00:00
+load:
  _parallel: true
  +orders:
    echo>: orders
  +events:
    if>: \${broken == 'yes'}
    _do:
      fail>: no events
+report:
  echo>: \${moment(session_time).format('YYYY-MM-DD')}
`;

const declared = `zerodag: 1
params:
  additional: false
  country: {type: string, enum: [jp, us], default: jp}
  days: {type: integer, minimum: 1, maximum: 31, required: true, description: How far back}
  table: {type: string, pattern: "^[a-z]+$", default: orders}
outputs: {what: "\${days} days of \${country}"}
+load:
  echo>: \${table}
`;

const days = [19, 20, 21];

test.describe("a workflow", () => {
  let project = "";
  let attempts: string[] = [];

  test.beforeAll(async ({ server }) => {
    const name = `grid${process.env.TEST_WORKER_INDEX ?? ""}`;
    server.push(name, { "daily.dig": text });
    const begun = days.map((d) => server.begin(name, "daily", "--session", `2026-11-${d}`, "-p", `broken=${d === 20 ? "yes" : "no"}`));
    for (const attempt of begun) await server.over(attempt);
    attempts = begun;
    const found = await server.get<{ projects: { id: string }[] }>(`/api/projects?name=${name}`);
    project = found.projects[0]!.id;
  });

  test("shows the results of tasks in each session, level by level", async ({ page }) => {
    await page.goto(`/projects/${project}/daily`);
    const grid = page.getByRole("grid", { name: "Tasks by session" });
    await expect(grid.getByRole("row", { name: /\+load/ })).toBeVisible();
    await expect(grid.getByRole("gridcell", { name: /failed/ })).toHaveCount(1);
    await page.getByRole("button", { name: "Open +load" }).click();
    await expect(grid.getByRole("row", { name: /\+events/ }).getByRole("gridcell", { name: /failed/ })).toHaveCount(1);
    await grid.getByRole("gridcell", { name: /failed/ }).first().hover();
    const session = page.getByRole("complementary", { name: "The session" });
    await expect(session).toContainText("no events");
    await expect(session).toContainText("Since the last success");
    await grid.getByRole("row", { name: /\+events/ }).getByRole("gridcell", { name: /failed/ }).click();
    await expect(page).toHaveURL(new RegExp(`/attempts/${attempts[1]}\\?task=`));
    await expect(page.getByText("no events").first()).toBeVisible();
  });

  test("is navigated with arrow keys", async ({ page }) => {
    await page.goto(`/projects/${project}/daily`);
    await page.getByRole("columnheader", { name: /Session 2026-11-21/ }).focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowLeft");
    await expect(page.getByRole("complementary", { name: "The session" })).toContainText("2026-11-20");
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(new RegExp(`/attempts/${attempts[1]}`));
  });

  test("asks for declared parameters, and shows outputs", async ({ page, server, allowed }) => {
    allowed.push(/400/); // the browser tells of each refusal on its console
    const name = `asks${process.env.TEST_WORKER_INDEX ?? ""}`;
    server.push(name, { "sales.dig": declared });
    const found = await server.get<{ projects: { id: string }[] }>(`/api/projects?name=${name}`);
    await page.goto(`/projects/${found.projects[0]!.id}/sales`);
    await page.getByRole("button", { name: "Start", exact: true }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(/Session time in UTC/).fill("2026-11-21T00:00:00");
    await expect(dialog.getByLabel("Other parameters")).toHaveCount(0);
    await expect(dialog.getByRole("button", { name: "Start", exact: true })).toBeDisabled();
    await expect(dialog).toContainText("How far back");
    await dialog.getByLabel("country").selectOption("us");
    await dialog.getByLabel("days (required)").fill("7");
    await dialog.getByLabel("table").fill("Orders");
    await expect(dialog.locator("code")).toContainText("-p country=us -p days=7");
    await dialog.getByRole("button", { name: "Start", exact: true }).click();
    await expect(dialog).toContainText("'table' must match");
    await dialog.getByLabel("table").fill("orders");
    await dialog.getByRole("button", { name: "Start", exact: true }).click();
    await expect(page).toHaveURL(/\/attempts\/[0-9]+$/);
    await expect(page.getByRole("region", { name: "Outputs" })).toContainText("7 days of us");
  });

  test("lists undeclared parameters before a start", async ({ page, server }) => {
    const name = `open${process.env.TEST_WORKER_INDEX ?? ""}`;
    server.push(name, { "sales.dig": declared.replace("  additional: false\n", "") });
    const found = await server.get<{ projects: { id: string }[] }>(`/api/projects?name=${name}`);
    await page.goto(`/projects/${found.projects[0]!.id}/sales`);
    await page.getByRole("button", { name: "Start", exact: true }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Other parameters").fill('{"country": "us"}');
    await expect(dialog.getByRole("status")).toHaveCount(0);
    await dialog.getByLabel("Other parameters").fill('{"currency": "usd"}');
    await expect(dialog.getByRole("status")).toContainText("does not declare currency");
  });

  test("starts a session with parameters, and another attempt of an existing one", async ({ page, server, allowed }) => {
    allowed.push(/409/); // the browser tells of each refusal on its console
    await page.goto(`/projects/${project}/daily`);
    await expect(page.getByRole("button", { name: "Start", exact: true }).first()).toBeVisible();
    await page.keyboard.press("s");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(/Session time in Asia\/Tokyo/).fill("2026-11-21T00:00:00");
    await dialog.getByLabel("Parameters").fill('{"broken": ');
    await expect(dialog.getByRole("alert")).toContainText("not JSON");
    await expect(dialog.getByRole("button", { name: "Start", exact: true })).toBeDisabled();
    await dialog.getByLabel("Parameters").fill('{"broken": "no"}');
    await expect(dialog.locator("code")).toContainText("--session '2026-11-21 00:00:00' -p broken=no");
    await dialog.getByRole("button", { name: "Start", exact: true }).click();
    await expect(dialog).toContainText("A session with this time exists");
    await dialog.getByRole("button", { name: "Start another attempt" }).click();
    await expect(page).toHaveURL(/\/attempts\/[0-9]+$/);
    const attempt = await server.get<{ sessionTime: string; params: object; retryAttemptName: string }>(`/api${new URL(page.url()).pathname}`);
    expect(attempt.sessionTime).toBe("2026-11-21T00:00:00+09:00");
    expect(attempt.params).toMatchObject({ broken: "no" });
    expect(attempt.retryAttemptName).toMatch(/^page-/);
  });

  test("is backfilled after a preview of existing sessions", async ({ page, server }) => {
    await page.goto(`/projects/${project}/daily`);
    await page.getByRole("button", { name: "Backfill", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("From").fill("2026-11-17");
    await dialog.getByLabel("To").fill("2026-11-21");
    await expect(dialog.getByRole("row")).toHaveCount(6);
    await expect(dialog.getByRole("row", { name: /2026-11-20/ })).toContainText("failed");
    await expect(dialog.getByRole("row", { name: /2026-11-20/ }).getByRole("checkbox")).toBeDisabled();
    await dialog.getByRole("row", { name: /2026-11-17/ }).getByRole("checkbox").uncheck();
    await dialog.getByLabel("In parallel").fill("2");
    await dialog.getByRole("button", { name: "Start 1" }).click();
    await expect(dialog).toBeHidden();
    await expect(page).toHaveURL(/tab=backfills/);
    const done = page.getByRole("listitem", { name: /^Backfill [0-9]+$/ });
    await expect(done).toContainText("finished with failures");
    await expect(done).toContainText("1 session, 2 in parallel");
    const sessions = await server.get<{ sessions: { sessionTime: string }[] }>(`/api/projects/${project}/sessions?workflow=daily`);
    const times = sessions.sessions.map((s) => s.sessionTime);
    expect(times).toContain("2026-11-18T00:00:00+09:00");
    expect(times).not.toContain("2026-11-17T00:00:00+09:00");
  });

  test("has a schedule whose sessions are shown, skipped, disabled and enabled", async ({ page, server }) => {
    await page.goto(`/projects/${project}/daily?tab=schedule`);
    const next = page.getByRole("region", { name: "Next sessions" });
    await expect(next.getByRole("row")).toHaveCount(11);
    const schedule = async () => (await server.get<{ schedules: { nextScheduleTime: string; disabledAt: string | null }[] }>(`/api/projects/${project}/schedules`)).schedules[0]!;
    const before = await schedule();
    await next.getByRole("button", { name: "Skip…" }).click();
    await page.getByRole("dialog").getByLabel("Number of sessions").fill("2");
    await page.getByRole("button", { name: "Skip 2" }).click();
    await expect.poll(async () => Date.parse((await schedule()).nextScheduleTime) - Date.parse(before.nextScheduleTime)).toBe(2 * 86_400_000);
    await page.getByRole("button", { name: "Disable" }).click();
    await expect(next).toContainText("The schedule has been disabled since");
    await page.getByRole("button", { name: "Enable" }).click();
    await expect(next.getByRole("row")).toHaveCount(11);
    expect((await schedule()).disabledAt).toBeNull();
  });

  test("shows its source, and a list instead of a grid on narrow screens", async ({ page }) => {
    await page.goto(`/projects/${project}/daily?tab=source`);
    await expect(page.locator("pre")).toContainText("daily>: 07:00:00");
    await page.setViewportSize({ width: 375, height: 800 });
    await page.goto(`/projects/${project}/daily`);
    await expect(page.getByRole("list", { name: "Sessions" }).getByRole("link").first()).toBeVisible();
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  });

  test("that does not exist gets suggestions", async ({ page, allowed }) => {
    allowed.push(/404/); // the browser tells of each refusal on its console
    await page.goto(`/projects/${project}/dialy`);
    const near = page.getByRole("region", { name: "Did you mean" });
    await expect(near.getByRole("link", { name: /daily$/ })).toHaveAttribute("href", `/projects/${project}/daily`);
    await page.goto("/projects/slaes");
    await near.getByRole("link", { name: "sales" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(/sales$/);
    await page.goto("/projects/999999");
    await expect(page.getByRole("alert")).toContainText("does not exist");
    await expect(near).toHaveCount(0);
  });

  for (const { theme, width } of looks) {
    test(`is accessible at ${width} pixels, ${theme}`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: width === 375 ? 812 : 900 });
      await page.goto(`/projects/${project}/daily`);
      if (width === 1440) {
        await page.getByRole("button", { name: "Open +load" }).click();
        await page.getByRole("grid").getByRole("gridcell", { name: /failed/ }).first().hover();
        await expect(page.getByRole("complementary", { name: "The session" })).toContainText("Since the last success");
      } else {
        await expect(page.getByRole("list", { name: "Sessions" })).toBeVisible();
      }
      await look(page, "workflow", width, theme);
      await page.getByRole("button", { name: "Start", exact: true }).first().click();
      await expect(page.getByRole("dialog")).toContainText("zerodag start");
      await look(page, "start", width, theme);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Backfill", exact: true }).click();
      await page.getByRole("dialog").getByLabel("From").fill("2026-11-17");
      await expect(page.getByRole("dialog").getByRole("row").nth(1)).toBeVisible();
      await look(page, "backfill", width, theme);
      await page.goto(`/projects/${project}/daily?tab=schedule`);
      await expect(page.getByRole("region", { name: "Next sessions" }).getByRole("row")).toHaveCount(11);
      await look(page, "schedule", width, theme);
      await page.goto(`/projects/${project}/daily?tab=source`);
      await expect(page.locator("pre")).toBeVisible();
      await look(page, "source", width, theme);
    });
  }
});
