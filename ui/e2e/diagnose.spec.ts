import { expect, test } from "./test";

test("one click leads from home to the failing line of the log, two more retry", async ({ page, examples, server }) => {
  await page.goto("/");
  const row = page.getByRole("listitem").filter({ hasText: "sales/nightly" });
  await expect(row).toContainText("Command failed with code 1");
  const lines = row.getByRole("group", { name: "Last lines of the log" });
  await expect(lines).toHaveText(/LINE 1: select \* from events$/);
  await row.getByRole("link", { name: "Log" }).click();
  await expect(page.getByRole("log").getByText('psql: ERROR: relation "events" does not exist')).toBeInViewport();
  await expect(page).toHaveURL(new RegExp(`/attempts/${examples.failed}\\?task=`));
  await expect(page).toHaveTitle(/^failed · sales\/nightly 2026-11-20/);
  await expect(page.locator("link[rel=icon]")).toHaveAttribute("href", /^data:image\/svg/);

  await expect(page.getByRole("group", { name: "Last lines of the log" })).toHaveCount(0); // all of it is beside
  await page.getByRole("treeitem", { name: /\+report/ }).click();
  await expect(page.getByRole("group", { name: "Last lines of the log" })).toContainText("loaded 60 rows");

  await page.getByRole("button", { name: /changes? since the last success/ }).click();
  const cause = page.getByRole("region", { name: "Why it failed" });
  await expect(cause).toContainText("nightly.dig");
  await expect(cause).toContainText("Parameter broken");

  await page.getByRole("button", { name: "Retry failed" }).click();
  const dialog = page.getByRole("dialog", { name: "Retry failed tasks" });
  await expect(dialog).toContainText(`zerodag retry ${examples.failed} --resume --latest-revision`);
  await dialog.getByText("Revision of this attempt").click();
  await expect(dialog).toContainText(`zerodag retry ${examples.failed} --resume --keep-revision`);
  await dialog.getByRole("button", { name: "Retry failed" }).click();
  await expect(page).not.toHaveURL(new RegExp(`/attempts/${examples.failed}\\b`));
  await expect(page.getByRole("navigation", { name: "Attempts of this session" })).toContainText("2");
  const id = page.url().split("/").at(-1)!.replace(/\?.*/, "");
  expect(await server.over(id)).toBe(false);
  await expect(page.getByText("kept").first()).toBeVisible();
});

test("a diagnosis needs only the keyboard", async ({ page, examples }) => {
  await page.goto("/sessions");
  await expect(page.getByRole("link", { name: /odd\/hostile/ })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("failed");
  await page.goto(`/attempts/${examples.failed}`);
  await expect(page.getByRole("log").getByText("LINE 1: select * from events")).toBeVisible();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toContainText("Next failed task");
  await page.keyboard.press("Escape");
  await page.keyboard.press("r");
  await expect(page.getByRole("dialog", { name: "Retry failed tasks" })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByRole("tree").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowUp");
  await expect(page).toHaveURL(/task=[0-9]+/);
});

test("keys on the home page apply to the focused failure", async ({ page, examples }) => {
  await page.goto("/");
  const failed = page.getByRole("region", { name: "Failed" });
  const row = failed.getByRole("listitem").filter({ hasText: "bulk/wide" });
  await expect(row).toBeVisible();
  await page.keyboard.press("l");
  await page.keyboard.press("r");
  await expect(page.getByRole("dialog")).toHaveCount(0); // no row has the focus
  await expect(page).toHaveURL("/");
  await row.getByRole("link", { name: "bulk/wide" }).focus();
  await page.keyboard.press("r");
  await expect(page.getByRole("dialog")).toContainText(`zerodag retry ${examples.large}`);
  await page.keyboard.press("Escape");
  await expect(row.getByRole("link", { name: "bulk/wide" })).toBeFocused();
  await page.keyboard.press("l");
  await expect(page).toHaveURL(new RegExp(`/attempts/${examples.large}\\?task=.*&tab=log`));
  await page.goto("/");
  await row.getByRole("link", { name: "bulk/wide" }).focus();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/attempts/${examples.large}\\?`));
});

test("a log can be searched, and addresses select lines", async ({ page, examples }) => {
  await page.goto(`/attempts/${examples.failed}`);
  const search = page.getByRole("searchbox", { name: "Search the log" });
  await search.fill("LOADED 17 ROWS");
  await expect(page.getByText("1/2")).toBeVisible(); // of two runs
  await expect(page.locator("mark").first()).toHaveText("loaded 17 rows");
  await search.press("Enter");
  await expect(page.getByText("2/2")).toBeVisible();
  await search.fill("");
  await page.goto(`${page.url().split("?")[0]}?task=${encodeURIComponent("+nightly+load^sub+loop-2+part")}&lines=3-4`);
  await expect(page.locator("[data-here]")).toHaveCount(2);
});

test("input, output and tries of a task are shown", async ({ page, examples }) => {
  await page.goto(`/attempts/${examples.failed}`);
  await page.getByRole("tab", { name: "Input" }).click();
  await expect(page.getByRole("tabpanel")).toContainText("broken");
  await page.getByRole("tab", { name: "Output" }).click();
  await expect(page.getByRole("tabpanel")).toContainText("The task stored nothing.");
  await page.getByRole("tab", { name: "Tries" }).click();
  await expect(page.getByRole("tabpanel").getByRole("listitem")).toHaveCount(2);
});
