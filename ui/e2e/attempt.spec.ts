import { expect, test } from "./test";

test("a running attempt is followed live, and late viewers see its first line", async ({ page, examples, server }) => {
  await page.goto(`/attempts/${examples.running}?task=${encodeURIComponent("+slow+parts^sub+loop-0+wait")}`);
  await expect(page.getByText("line 1 of part 0")).toBeAttached();
  const count = page.getByRole("log").locator("button");
  const before = Number(await count.last().textContent());
  await expect.poll(async () => Number(await count.last().textContent())).toBeGreaterThan(before + 1);
  await page.getByRole("button", { name: "Kill" }).click();
  const dialog = page.getByRole("dialog", { name: "Kill this attempt" });
  await expect(dialog).toContainText("3 running tasks will be stopped");
  await expect(dialog).toContainText(`zerodag kill ${examples.running}`);
  await dialog.getByRole("button", { name: "Kill" }).click();
  await server.over(examples.running);
  await expect(page.getByText("killed", { exact: true })).toBeVisible();
  await expect(page).toHaveTitle(/^killed/);
  await expect(page.getByRole("button", { name: "Kill" })).toHaveCount(0);
});

test("many siblings are folded, with failures first", async ({ page, examples }) => {
  await page.goto(`/attempts/${examples.large}`);
  await expect(page.getByRole("treeitem", { name: /#170/ })).toBeVisible();
  const fold = page.getByRole("treeitem", { name: /#0 … #299/ });
  await expect(fold).toContainText("299");
  await fold.click();
  await expect(page.getByRole("treeitem", { name: /#0/ }).first()).toBeVisible();
  const rendered = await page.getByRole("treeitem").count();
  expect(rendered).toBeLessThan(120); // only what can be seen is there
  await page.getByRole("searchbox", { name: "Filter tasks" }).fill("loop-170");
  await expect(page.getByRole("treeitem", { name: /#170/ })).toBeVisible();
  await expect(page.getByRole("treeitem", { name: /#169/ })).toHaveCount(0);
});

test("hostile names, parameters, errors and lines are shown as text", async ({ page, examples }) => {
  await page.goto(`/attempts/${examples.hostile}`);
  await expect(page.getByText("red", { exact: true })).toBeVisible();
  await page.getByRole("tab", { name: "Input" }).click();
  await expect(page.getByRole("tabpanel")).toContainText("<b onclick=1");
  await page.goto("/");
  await expect(page.getByText(/odd\/hostile/)).toBeVisible();
  await expect(page).not.toHaveTitle("taken");
  await expect(page.locator("img")).toHaveCount(0);
});

test("polling shows the same as a stream", async ({ page, server, examples }) => {
  await page.route("**/api/x/session", (r) => r.fulfill({ json: { authenticated: true, live: "poll", rights: { read: true, write: true } } }));
  const streams: string[] = [];
  page.on("request", (r) => r.headers().accept === "text/event-stream" && streams.push(r.url()));
  const attempt = server.begin("sales", "nightly", "--session", `2026-10-${10 + Number(examples.failed)}`, "-p", "broken=");
  await page.goto(`/attempts/${attempt}`);
  await expect(page.getByText("done", { exact: true })).toBeVisible();
  await expect(page.getByRole("treeitem", { name: /\+report/ })).toBeVisible();
  expect(streams).toEqual([]);
});

test("a task with an incomplete log shows a note", async ({ page, examples }) => {
  await page.route(/\/api\/x\/attempts\/\d+\/tasks\/\d+/, async (r) => {
    const answer = await r.fetch();
    const found = await answer.json();
    await r.fulfill({ response: answer, json: { ...found, task: { ...found.task, logIncomplete: true } } });
  });
  await page.goto(`/attempts/${examples.worked}?task=1`);
  await expect(page.getByText("The log is incomplete because part of it could not be stored.")).toBeVisible();
});

test("viewers see no actions that the server would reject", async ({ page, examples }) => {
  await page.route("**/api/x/session", (r) => r.fulfill({ json: { authenticated: true, live: "stream", rights: { read: true, write: false } } }));
  await page.goto(`/attempts/${examples.failed}`);
  await expect(page.getByRole("region", { name: "Why it failed" })).toBeVisible();
  await expect(page.getByRole("button", { name: /Retry/ })).toHaveCount(0);
  await page.goto("/");
  await expect(page.getByRole("link", { name: "Log" }).first()).toBeVisible();
  await expect(page.getByRole("button", { name: /Retry/ })).toHaveCount(0);
});

test("a session links to the previous and next ones", async ({ page, examples }) => {
  await page.goto(`/attempts/${examples.failed}?task=1&view=graph`);
  await expect(page.getByRole("button", { name: "Previous session" })).toBeEnabled();
  await page.keyboard.press("[");
  await expect(page).toHaveURL(`/attempts/${examples.worked}?view=graph`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("sales/nightly");
  await page.getByRole("button", { name: "Next session" }).click();
  await expect(page).not.toHaveURL(new RegExp(`/attempts/${examples.worked}`));
  await expect(page.locator("header time").first()).toHaveText("2026-11-20 00:00");
  await page.keyboard.press("]");
  await expect(page.getByText("No later session was found.")).toBeVisible();
});

test("a killed command is explained, and long lines can be wrapped", async ({ page, server }) => {
  const project = `wide${process.env.TEST_WORKER_INDEX ?? ""}`;
  server.push(project, { "wide.dig": "+x:\n  sh>: printf 'long %04d ' $(seq 1 900); echo; echo after; exit 137\n" });
  const attempt = server.begin(project, "wide", "--session", "2026-11-20");
  await server.over(attempt);
  await page.goto(`/attempts/${attempt}`);
  const cause = page.getByRole("region", { name: "Why it failed" });
  await expect(cause).toContainText("code 137");
  await expect(cause).toContainText("perhaps because memory ran out");
  const log = page.getByRole("log");
  await expect(log.getByText("long 0001")).toBeAttached();
  const hidden = () => log.evaluate((box) => box.scrollWidth - box.clientWidth);
  await expect.poll(hidden).toBeGreaterThan(1000);
  await page.keyboard.press("w");
  await expect(page.getByRole("button", { name: "Wrap long lines" })).toHaveAttribute("aria-pressed", "true");
  await expect.poll(hidden).toBeLessThanOrEqual(0);
  // The line below a wrapped one begins where that ends.
  const box = async (text: RegExp) => (await log.locator("[data-index]").filter({ hasText: text }).boundingBox())!;
  const gap = async () => {
    const long = await box(/long 0001/);
    return Math.abs((await box(/^[0-9]+after$/)).y - long.y - long.height);
  };
  await expect.poll(gap).toBeLessThan(1);
  expect((await box(/long 0001/)).height).toBeGreaterThan(100);
  await page.reload();
  await expect(page.getByRole("button", { name: "Wrap long lines" })).toHaveAttribute("aria-pressed", "true");
  await page.getByRole("button", { name: "Wrap long lines" }).click();
  await expect.poll(hidden).toBeGreaterThan(1000);
});
