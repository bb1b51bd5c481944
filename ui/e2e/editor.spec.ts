import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { look, looks } from "./looks";
import type { Server } from "./server";
import { evil, expect, open, test } from "./test";

const daily = "timezone: Asia/Tokyo\n\n+load:\n  sh>: sh load.sh\n\n+report:\n  echo>: done\n";
const binary = Uint8Array.from({ length: 70_000 }, (_, i) => (i * 31 + (i >> 8)) % 256);

/** Pushes a project with files of every kind, and returns its id. */
async function pushed(server: Server, name: string): Promise<string> {
  const folder = join(server.folder, "projects", name);
  mkdirSync(join(folder, "sql"), { recursive: true });
  writeFileSync(join(folder, "data.bin"), binary);
  writeFileSync(join(folder, "load.sh"), "echo loaded\n");
  chmodSync(join(folder, "load.sh"), 0o755);
  writeFileSync(join(folder, evil), "it is only a name\n");
  writeFileSync(join(folder, "sql/dos.sql"), "select 1\r\nselect 2\r\n");
  symlinkSync("load.sh", join(folder, "latest.sh"));
  server.push(name, { "daily.dig": daily });
  const found = await server.get<{ projects: { id: string }[] }>(`/api/projects?name=${name}`);
  return found.projects[0]!.id;
}

/** The newest revision, unpacked by the system's tar. */
async function unpacked(server: Server, project: string, into: string): Promise<string> {
  const to = join(server.folder, into);
  mkdirSync(to);
  const answer = await fetch(`${server.url}/api/projects/${project}/archive`);
  execFileSync("tar", ["-C", to, "-xzf", "-"], { input: Buffer.from(await answer.arrayBuffer()), stdio: ["pipe", "pipe", "pipe"] });
  return to;
}

const text = (page: Page, name: string) => page.getByRole("textbox", { name: `Text of ${name}` });
const problems = (page: Page) => page.getByRole("region", { name: /error|hint|problems|Checking/ });

/** Opens the editor, and waits until it has text. */
async function edit(page: Page, project: string, file: string) {
  await page.goto(`/projects/edit/${project}?file=${encodeURIComponent(file)}`);
  await expect(text(page, file)).toBeVisible();
}

/** Writes at the end of a file. */
async function append(page: Page, file: string, typed: string) {
  await text(page, file).click();
  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.insertText(typed);
}

test("errors appear with hints during typing; the file is fixed, saved and started", async ({ page, server }) => {
  const project = await pushed(server, `edit-start-${process.env.TEST_WORKER_INDEX}`);
  await page.goto(`/projects/${project}/daily?tab=source`);
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await expect(text(page, "daily.dig")).toContainText("echo>: done");
  await expect(problems(page)).toContainText("No problems");
  const save = page.getByRole("button", { name: "Save as revision" });
  await expect(save).toBeDisabled();

  await append(page, "daily.dig", "\n+broken:\n  echo>: a\n  sh>: b\n");
  await expect(problems(page)).toContainText("1 error");
  const error = problems(page).getByRole("button", { name: /^Error daily\.dig/ });
  const place = /:(\d+):(\d+)/.exec((await error.textContent())!)!;
  const found = (await checked(server, `${daily}\n+broken:\n  echo>: a\n  sh>: b\n`)).find((f) => f.refused);
  expect(place.slice(1).map(Number)).toEqual([found!.line, found!.column]);
  await expect(error).toContainText(found!.message);
  await expect(page.locator(".cm-lintRange-error")).toBeVisible();
  await expect(page.locator(".cm-lint-marker-error")).toBeVisible();
  await expect(save).toBeDisabled();

  await page.getByRole("link", { name: "Skip to the content" }).focus();
  await page.keyboard.press("F8");
  await expect(text(page, "daily.dig")).toBeFocused();
  await page.locator(".cm-lintRange-error").hover();
  await expect(page.locator(".cm-tooltip")).toContainText(found!.message);

  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(`${daily}\n+more:\n  echo>: it is mended\n`);
  await expect(problems(page)).toContainText("No problems");
  await page.getByRole("button", { name: "Save and start" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("list", { name: "Changes" })).toContainText("echo>: it is mended");
  await expect(dialog).toContainText("+3");
  await expect(dialog.locator("code").last()).toContainText("zerodag push edit-start-");
  await dialog.getByRole("textbox", { name: "Revision" }).fill("mended");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("dialog", { name: "Start daily" })).toBeVisible();
  await page.getByRole("dialog").getByRole("button", { name: "Start", exact: true }).click();
  await expect(page).toHaveURL(/\/attempts\/[0-9]+$/);
  const attempt = new URL(page.url()).pathname.split("/").at(-1)!;
  expect(await server.over(attempt)).toBe(true);
  expect(server.cli("log", attempt)).toContain("it is mended");
});

type Found = { line: number; column: number; message: string; hint: string | null; refused: boolean };

async function checked(server: Server, text: string): Promise<Found[]> {
  const answer = await fetch(`${server.url}/api/x/check`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ files: { "daily.dig": text, "load.sh": "" } }) });
  return ((await answer.json()) as { findings: Found[] }).findings;
}

test("a typo in a name gets a suggestion", async ({ page, server }) => {
  const project = await pushed(server, `edit-hint-${process.env.TEST_WORKER_INDEX}`);
  await edit(page, project, "daily.dig");
  await append(page, "daily.dig", "\n+each:\n  for_eahc>: {a: [1]}\n  _do:\n    echo>: a\n");
  await expect(problems(page).getByRole("button", { name: /for_eahc/ })).toContainText("did you mean for_each?");
  await problems(page).getByRole("button", { name: "Fix" }).click();
  await expect(text(page, "daily.dig")).toContainText("for_each>: {a: [1]}");
  await expect(problems(page)).toContainText("No problems");
  await page.keyboard.press("ControlOrMeta+z"); // it is undone as what was typed
  await expect(problems(page).getByRole("button", { name: /for_eahc/ })).toBeVisible();
  await page.keyboard.press("F8"); // to its line
  await page.keyboard.press("Control+.");
  await expect(text(page, "daily.dig")).toContainText("for_each>: {a: [1]}");
});

test("the plan follows the text and links to its places", async ({ page, server }) => {
  const project = await pushed(server, `edit-plan-${process.env.TEST_WORKER_INDEX}`);
  await edit(page, project, "daily.dig");
  const plan = page.getByRole("list", { name: "Plan" });
  await expect(plan.getByRole("button")).toHaveText(["+daily", "+loadsh>", "+reportecho>"]);
  await append(page, "daily.dig", "\n+each:\n  _parallel: true\n  +a:\n    echo>: a\n  +b:\n    for_each>: {n: [1, 2]}\n    _do:\n      +turn:\n        echo>: b\n");
  await expect(plan.getByRole("button", { name: /\+turn/ })).toBeVisible();
  await expect(plan.getByRole("button", { name: /in parallel with the task above: \+b/ })).toContainText("for_each>");
  await plan.getByRole("button", { name: /\+load/ }).click();
  await expect(text(page, "daily.dig")).toBeFocused();
  await page.keyboard.insertText("# here ");
  await expect(text(page, "daily.dig")).toContainText(/# here \+load:|# here sh>/);
  await append(page, "daily.dig", "+broken: [\n");
  await expect(problems(page)).toContainText("1 error");
  await expect(page.getByRole("heading", { name: "Plan" })).toContainText("of the last valid version");
  await expect(plan.getByRole("button", { name: /\+turn/ })).toBeVisible();
  await page.getByRole("button", { name: "load.sh", exact: true }).click();
  await expect(plan).toHaveCount(0);
});

test("changed schedules are listed before saving", async ({ page, server }) => {
  const project = await pushed(server, `edit-schedule-${process.env.TEST_WORKER_INDEX}`);
  await edit(page, project, "daily.dig");
  const save = async (typed: string) => {
    await text(page, "daily.dig").click();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText(typed);
    await expect(problems(page)).toContainText("No problems");
    await page.getByRole("button", { name: "Save as revision" }).click();
  };
  const dialog = page.getByRole("dialog");
  const schedules = dialog.getByRole("list", { name: "Schedules" });
  await save(daily.replace("\n+load", "\nschedule:\n  daily>: 02:00:00\n\n+load"));
  await expect(schedules).toContainText("daily will run on a schedule: daily> 02:00:00 (Asia/Tokyo)");
  await dialog.getByRole("textbox", { name: "Revision" }).fill("first");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Saved as revision first")).toBeVisible();
  await save(daily.replace("\n+load", "\nschedule:\n  daily>: 03:00:00\n\n+load"));
  await expect(schedules).toContainText("daily> 02:00:00 (Asia/Tokyo) → daily> 03:00:00 (Asia/Tokyo)");
  await page.keyboard.press("Escape");
  await save(daily);
  await expect(schedules).toContainText("daily will no longer run on its schedule");
});

test("unedited files stay identical: binary files, modes, links, line ends", async ({ page, server }) => {
  const project = await pushed(server, `edit-bytes-${process.env.TEST_WORKER_INDEX}`);
  await edit(page, project, "sql/dos.sql");
  await append(page, "sql/dos.sql", "select 3\n");
  await page.getByRole("button", { name: "data.bin" }).click();
  await expect(page.getByText("70,000 bytes are not text")).toBeVisible();
  await page.getByRole("button", { name: "New file" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("daily.dig");
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("A file with this name exists");
  const long = `${"folder/".repeat(16)}new ü.sql`;
  await page.getByRole("textbox", { name: "Name" }).fill(long);
  await page.getByRole("button", { name: "Add" }).click();
  await append(page, long, "select 4\n");
  await page.keyboard.press("ControlOrMeta+s");
  await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Saved as revision")).toBeVisible();
  const folder = await unpacked(server, project, "bytes");
  expect(readFileSync(join(folder, "data.bin")).equals(Buffer.from(binary))).toBe(true);
  expect(readFileSync(join(folder, "sql/dos.sql"), "utf8")).toBe("select 1\r\nselect 2\r\nselect 3\r\n");
  expect(readFileSync(join(folder, long), "utf8")).toBe("select 4\n");
  expect(execFileSync("find", [".", "-name", "l*.sh", "-printf", "%f %m %l;"], { cwd: folder, encoding: "utf8" }).split(";").sort()).toEqual(["", "latest.sh 777 load.sh", "load.sh 755 "]);
});

test("a draft survives a reload, is shown, is confirmed on leaving, and can be discarded", async ({ page, server }) => {
  const project = await pushed(server, `edit-draft-${process.env.TEST_WORKER_INDEX}`);
  await edit(page, project, "daily.dig");
  await append(page, "daily.dig", "# from before\n");
  await expect(page.getByText("The draft is stored in this browser.")).toBeVisible();
  await page.reload();
  await expect(text(page, "daily.dig")).toContainText("# from before");
  await expect(page.getByText("The draft is stored in this browser.")).toBeVisible();
  await page.getByRole("link", { name: "Home", exact: true }).click();
  await page.getByRole("dialog", { name: "Leave the editor?" }).getByRole("button", { name: "Stay" }).click();
  await expect(page).toHaveURL(/edit/);
  await page.getByRole("link", { name: "Home", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Leave" }).click();
  await expect(page).toHaveURL(`${server.url}/`);
  await edit(page, project, "daily.dig");
  await expect(text(page, "daily.dig")).toContainText("# from before");
  await page.getByRole("button", { name: "Discard" }).click();
  await expect(text(page, "daily.dig")).not.toContainText("# from before");
  await page.reload();
  await expect(text(page, "daily.dig")).toContainText("+report");
  await expect(text(page, "daily.dig")).not.toContainText("# from before");
  await page.getByRole("link", { name: "Home", exact: true }).click();
  await expect(page).toHaveURL(`${server.url}/`);
});

test("a newer revision is replaced only on request, and names are unique", async ({ page, server, allowed }) => {
  allowed.push(/409/); // the browser tells of each refusal on its console
  const name = `edit-meanwhile-${process.env.TEST_WORKER_INDEX}`;
  const project = await pushed(server, name);
  await edit(page, project, "daily.dig");
  await append(page, "daily.dig", "# mine\n");
  server.cli("push", name, "--project", join(server.folder, "projects", name), "-r", "theirs");
  await page.getByRole("button", { name: "Save as revision" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Revision theirs was pushed after you started editing");
  await expect(dialog.getByRole("button", { name: "Save", exact: true })).toBeDisabled();
  await dialog.getByRole("checkbox").check();
  await dialog.getByRole("textbox", { name: "Revision" }).fill("theirs");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(dialog.getByRole("alert")).toContainText("A revision with this name exists");
  await dialog.getByRole("textbox", { name: "Revision" }).fill("mine");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Saved as revision mine")).toBeVisible();
  expect((await server.get<{ revision: string }>(`/api/projects/${project}`)).revision).toBe("mine");
});

test("a new project starts with a workflow and needs a unique name", async ({ page, server }) => {
  const name = `edit-new-${process.env.TEST_WORKER_INDEX}`;
  await page.goto("/projects");
  await page.getByRole("link", { name: "New project" }).click();
  await append(page, "hello.dig", "# mine\n");
  await expect(problems(page)).toContainText("No problems");
  await page.getByRole("button", { name: "Save and start" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Project").fill("sales");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(dialog.getByRole("alert")).toContainText("A project with this name exists");
  await dialog.getByLabel("Project").fill(name);
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("dialog", { name: "Start hello" })).toBeVisible();
  await page.getByRole("dialog").getByRole("button", { name: "Start", exact: true }).click();
  await expect(page).toHaveURL(/\/attempts\/[0-9]+$/);
  expect(await server.over(new URL(page.url()).pathname.split("/").at(-1)!)).toBe(true);
  await page.goto("/projects/new");
  await expect(text(page, "hello.dig")).not.toContainText("# mine");
});

test("files are renamed, deleted and restored; hostile names are shown as text", async ({ page, server }) => {
  const project = await pushed(server, `edit-files-${process.env.TEST_WORKER_INDEX}`);
  await edit(page, project, evil);
  await expect(page.getByRole("heading", { name: evil })).toBeVisible();
  await page.getByRole("button", { name: "Delete the file" }).click();
  await expect(page.getByRole("dialog")).toContainText(evil);
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("button", { name: `Restore ${evil}` })).toBeVisible();
  await page.getByRole("button", { name: "load.sh", exact: true }).click();
  await page.getByRole("button", { name: "Rename the file" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill(`${evil}.sh`);
  await page.getByRole("button", { name: "Rename", exact: true }).click();
  await page.keyboard.press("ControlOrMeta+s");
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("list", { name: "Changes" }).getByRole("listitem")).toHaveText([/renamed, was load\.sh/, /removed/]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: `Restore ${evil}` }).click();
  await expect(text(page, evil)).toContainText("it is only a name");
  await expect(page).toHaveTitle(/^Edit edit-files/);
});

test("the keyboard can leave the editor, and typed letters are not shortcuts", async ({ page, server }) => {
  const project = await pushed(server, `edit-keys-${process.env.TEST_WORKER_INDEX}`);
  await edit(page, project, "daily.dig");
  await append(page, "daily.dig", "");
  await page.keyboard.type("# ? t z g h");
  await expect(text(page, "daily.dig")).toContainText("# ? t z g h");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  await expect(text(page, "daily.dig")).not.toBeFocused();
  await expect(page).toHaveURL(/edit/);
});

test.describe("without the role to push", () => {
  test.use({ session: { ...open, rights: { read: true, write: true, push: false, admin: false, owner: false } } });
  test("files are read-only", async ({ page, server }) => {
    const project = await pushed(server, `edit-read-${process.env.TEST_WORKER_INDEX}`);
    await edit(page, project, "daily.dig");
    await append(page, "daily.dig", "# mine\n");
    await expect(text(page, "daily.dig")).not.toContainText("# mine");
    await expect(page.getByText("Saving requires the role developer.")).toBeVisible();
    await expect(page.getByRole("button", { name: /^Save|New file|Rename|Delete/ })).toHaveCount(0);
    await page.goto("/projects");
    await expect(page.getByRole("link", { name: "New project" })).toHaveCount(0);
  });
});

for (const { theme, width } of looks) {
  test(`is accessible at ${width} pixels, ${theme}`, async ({ page, server }) => {
    const project = await pushed(server, `edit-look-${width}-${theme}-${process.env.TEST_WORKER_INDEX}`);
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: width === 375 ? 812 : 900 });
    await edit(page, project, "daily.dig");
    await append(page, "daily.dig", "\n# A comment, then two slips.\n+each:\n  for_eahc>: {region: [eu, us]}\n  _do:\n    echo>: ${region}\n+twice:\n  echo>: a\n  sh>: b\n");
    await expect(problems(page)).toContainText("error");
    await look(page, "editor", width, theme);
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText(daily.replace("done", "${session_date}").replace("\n+load", "\nschedule:\n  daily>: 07:00:00\n\n+load"));
    await expect(problems(page)).toContainText("No problems");
    await page.getByRole("button", { name: "Save as revision" }).click();
    await expect(page.getByRole("dialog").getByRole("list", { name: "Changes" })).toContainText("daily.dig");
    await expect(page.getByRole("dialog").getByRole("list", { name: "Schedules" })).toBeVisible();
    await look(page, "save", width, theme);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "New file" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("../up");
    await look(page, "new-file", width, theme);
  });
}
