import { look, looks } from "./looks";
import { expect, test } from "./test";

test.describe("the graph of an attempt", () => {
  test("shows each task as a box and selects the task of the panel", async ({ page, examples }) => {
    await page.goto(`/attempts/${examples.failed}?view=graph`);
    const graph = page.getByRole("group", { name: /Graph of the tasks/ });
    await expect(graph.getByRole("button", { name: /\+report/ })).toBeVisible();
    await graph.getByRole("button", { name: /^done \+report/ }).or(graph.getByRole("button", { name: /^blocked \+report/ })).click();
    await expect(page).toHaveURL(/task=[0-9]+/);
    await page.getByRole("button", { name: "critical" }).click();
    await expect(graph.locator("[data-aside]").first()).toBeAttached();
  });

  test("opens and closes groups, and reports its limit", async ({ page, server }) => {
    server.push("huge", { "huge.dig": "+a:\n  loop>: 520\n  _parallel: true\n  _do:\n    echo>: ${i}\n+b:\n  +c:\n    echo>: c\n" });
    const attempt = server.begin("huge", "huge", "--session", `2026-10-0${1 + Number(process.env.TEST_WORKER_INDEX ?? 0) % 9}`);
    await server.over(attempt);
    await page.goto(`/attempts/${attempt}?view=graph`);
    const graph = page.getByRole("group", { name: /Graph of the tasks/ });
    await expect(graph.getByRole("button", { name: /^Close .*\+b$/ })).toBeVisible();
    await graph.getByRole("button", { name: /^Close .*\+b$/ }).click();
    await expect(graph.getByRole("button", { name: /\+c/ })).toHaveCount(0);
    await graph.getByRole("button", { name: /^Open .*\+a$/ }).click();
    await expect(page.getByText(/The graph shows at most 500/)).toBeVisible();
  });
});

test.describe("an attempt in the past", () => {
  test("goes back step by step, and forks", async ({ page, examples, server }) => {
    await page.goto(`/attempts/${examples.failed}`);
    await page.getByRole("button", { name: "Go back in time" }).click();
    const moment = page.getByRole("slider", { name: "Moment of the attempt" });
    await moment.focus();
    await page.keyboard.press("Home");
    await expect(page).toHaveURL(/at=[0-9]+/);
    await expect(page.getByText(/state at/)).toBeVisible();
    const tree = page.getByRole("tree", { name: "Tasks" });
    await expect(tree.getByRole("treeitem", { name: /\+load/ }).first()).toBeVisible();
    await expect(tree.getByRole("treeitem", { name: /part/ })).toHaveCount(0);
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    await expect(tree.getByRole("treeitem").first()).toBeVisible();
    await page.getByRole("button", { name: "Fork here…" }).click();
    const dialog = page.getByRole("dialog");
    await expect(dialog).toContainText("tasks that had succeeded by then");
    await expect(dialog.getByRole("list", { name: "Tasks with kept results" })).toContainText("+extract");
    await dialog.getByRole("button", { name: "Fork", exact: true }).click();
    await expect(page).not.toHaveURL(new RegExp(`/attempts/${examples.failed}`));
    const id = new URL(page.url()).pathname.split("/").at(-1)!;
    await server.over(id);
    const tasks = await server.get<{ tasks: { fullName: string; state: string }[] }>(`/api/attempts/${id}/tasks`);
    expect(tasks.tasks.some((t) => t.fullName.includes("+extract") && t.state === "success")).toBe(true);
  });

  test("works for running attempts, which continue at the right end", async ({ page, server }) => {
    const project = `under-way-${process.env.TEST_WORKER_INDEX ?? ""}`;
    server.push(project, { "steps.dig": "+steps:\n  loop>: 400\n  _do:\n    sh>: sleep 0.2\n" });
    const attempt = server.begin(project, "steps", "--session", "2026-11-20");
    await page.goto(`/attempts/${attempt}`);
    await page.getByRole("button", { name: "Go back in time" }).click();
    const moment = page.getByRole("slider", { name: "Moment of the attempt" });
    const most = async () => Number(await moment.getAttribute("max"));
    await expect.poll(most).toBeGreaterThan(3);
    const then = await most();
    await expect.poll(most).toBeGreaterThan(then);
    expect(Number(await moment.inputValue())).toBeGreaterThan(then); // nobody has gone back: it is at the right end
    await moment.focus();
    await page.keyboard.press("Home");
    await expect(page).toHaveURL(/at=[0-9]+/);
    await expect(page.getByRole("treeitem", { name: /\+steps/ }).first()).toBeVisible();
    const before = await most();
    await expect.poll(most).toBeGreaterThan(before);
    await expect(moment).toHaveValue("0"); // what is looked at stays while the attempt goes on
    await expect(page.getByRole("button", { name: "Fork here…" })).toHaveCount(0);
    await page.getByRole("button", { name: "Now" }).click();
    await expect(page).not.toHaveURL(/at=/);
    server.cli("kill", attempt);
  });

  test("is shown by a link", async ({ page, examples, server }) => {
    const { changes } = await server.get<{ changes: { seq: number }[] }>(`/api/x/attempts/${examples.failed}/changes?after=0`);
    const middle = changes[Math.floor(changes.length / 2)]!;
    await page.goto(`/attempts/${examples.failed}?at=${middle.seq}`);
    await expect(page.getByText(/state at/)).toBeVisible();
    await page.getByRole("button", { name: "Now" }).click();
    await expect(page).not.toHaveURL(/at=/);
  });
});

for (const { theme, width } of looks) {
  test(`the graph and the past are accessible at ${width} pixels, ${theme}`, async ({ page, examples }) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: width === 375 ? 812 : 900 });
    await page.goto(`/attempts/${examples.failed}?view=graph`);
    await page.getByRole("button", { name: "Tasks", exact: true }).or(page.getByRole("button", { name: "critical" })).first().click();
    await expect(page.getByRole("group", { name: /Graph of the tasks/ }).getByRole("button", { name: /\+report/ })).toBeVisible();
    await look(page, "graph", width, theme);
    await page.getByRole("button", { name: "Timeline" }).click();
    await page.getByRole("button", { name: "Go back in time" }).click();
    await page.getByRole("slider").focus();
    await page.keyboard.press("ArrowLeft");
    await expect(page.getByText(/state at/)).toBeVisible();
    await look(page, "past", width, theme);
  });
}
