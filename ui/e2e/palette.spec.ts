import type { Page } from "@playwright/test";
import { look, looks } from "./looks";
import { expect, test } from "./test";

/** Opens the palette and waits until it takes what is typed. */
async function find(page: Page) {
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: "Command palette" })).toBeFocused();
}

test("the palette finds projects, workflows, tasks and numbers with the keyboard", async ({ page, examples }) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  const field = page.getByRole("combobox", { name: "Command palette" });
  const here = page.locator('[role="option"][aria-selected="true"]');
  await find(page);
  await page.keyboard.type("nightl");
  await expect(here).toContainText("nightly");
  await expect(field).toHaveAttribute("aria-activedescendant", (await here.getAttribute("id"))!);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/projects\/[0-9]+\/nightly$/);
  await expect(field).toHaveCount(0);

  await find(page);
  await page.keyboard.type("+loa");
  await expect(here).toContainText("+load");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/nightly\?q=%2Bload$/);

  await find(page);
  await page.keyboard.type(examples.failed);
  await expect(here).toContainText(`Attempt ${examples.failed}`);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/attempts/${examples.failed}$`));
  await expect(page.getByRole("region", { name: "Why it failed" })).toBeVisible();

  await find(page);
  await expect(page.getByRole("group", { name: "Recent" }).getByRole("option")).toHaveText([new RegExp(`^Attempt ${examples.failed}`), /^\+nightly\+load/, /^nightly/]);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/projects\/[0-9]+\/nightly$/);
});

test("the palette runs the actions of the page and returns the focus", async ({ page, examples }) => {
  await page.goto(`/attempts/${examples.failed}`);
  await expect(page.getByRole("button", { name: "Retry failed" })).toBeVisible();
  await find(page);
  const list = page.getByRole("listbox", { name: "Results" });
  await expect(list.getByRole("group", { name: "On this page" }).getByRole("option", { name: /Retry failed tasks/ })).toBeVisible();
  await expect(list.getByRole("option", { name: /Kill/ })).toHaveCount(0); // the attempt is over
  await page.keyboard.type("retry");
  await expect(list.getByRole("option")).toHaveCount(1);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: "Retry failed tasks" })).toBeVisible();
  await expect(list).toHaveCount(0);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.getByRole("searchbox", { name: "Search the log" }).focus();
  await find(page);
  await page.keyboard.press("ArrowUp"); // from the first to the last
  await expect(list.getByRole("option").last()).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("searchbox", { name: "Search the log" })).toBeFocused();
});

test("failed searches are reported, and pages are still found", async ({ page, allowed }) => {
  allowed.push(/Failed to load resource/);
  await page.route("**/api/x/search?*", (r) => r.fulfill({ status: 400, json: { message: "The text is too long", status: 400 } }));
  await page.goto("/projects");
  await page.getByRole("button", { name: "Search and commands" }).click();
  await expect(page.getByRole("combobox", { name: "Command palette" })).toBeFocused();
  await page.keyboard.type("sess");
  await expect(page.getByRole("status").filter({ hasText: "The text is too long" })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/sessions$/);
});

for (const { theme, width } of looks) {
  test(`the palette is accessible at ${width} pixels, ${theme}`, async ({ page, examples }) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: width === 375 ? 812 : 900 });
    await page.goto(`/attempts/${examples.failed}`);
    await expect(page.getByRole("region", { name: "Why it failed" })).toBeVisible();
    await find(page);
    await page.keyboard.type("l");
    await expect(page.getByRole("group", { name: "Workflows" })).toBeVisible();
    await look(page, "palette", width, theme);
  });
}
