import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { commands } from "../src/parts/commands";
import { look, looks } from "./looks";
import { expect, open, type Serve, test } from "./test";

/** A server on which callers show a token, and the one of its owner. */
async function tokenServer(serve: Serve) {
  const server = await serve("-X", "server.authenticator.type=token");
  return { server, owner: readFileSync(join(server.folder, "data", "admin.token"), "utf8").trim() };
}

async function signIn(page: Page, address: string, token: string) {
  await page.goto(address);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("button", { name: "Sign in", exact: true })).toHaveCount(0); // the form has a heading, too
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
}

/** All that a page keeps beyond what it shows: where a secret must not be. */
const kept = (page: Page) =>
  page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state, performance.getEntriesByType("resource").map((e) => e.name)]));

test.describe("on a server with tokens", () => {
  test.use({ allowed: [/Failed to load resource.*(401|403)/] });

  test("a token is created, shown once, not stored, and revoked by name", async ({ page, context, serve }) => {
    const { server, owner } = await tokenServer(serve);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await signIn(page, `${server.url}/admin`, owner);
    await page.getByRole("button", { name: "Create a token" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("ci push");
    await dialog.getByLabel("Role").selectOption("operator");
    await expect(dialog.locator("code")).toHaveText(commands.makeToken("ci push", "operator", null, 0, []));
    await dialog.getByRole("button", { name: "Create" }).click();
    const token = (await dialog.getByLabel("New token").textContent())!;
    expect(token).toMatch(/^zdt_/);
    await dialog.getByRole("button", { name: "Copy" }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(token);
    expect(await kept(page)).not.toContain(token);
    await dialog.getByRole("button", { name: "Done" }).click();
    await expect(page.getByRole("row", { name: /ci push operator 0 .* never/ })).toBeVisible();
    expect(await page.content()).not.toContain(token);
    await page.getByRole("button", { name: "Create a token" }).click();
    await expect(page.getByRole("dialog").getByLabel("Name")).toHaveValue("");
    await page.keyboard.press("Escape");

    const tried = () => fetch(`${server.url}/api/projects`, { headers: { Authorization: `Bearer ${token}` } }).then((r) => r.status);
    expect(await tried()).toBe(200);
    await page.getByRole("button", { name: "Revoke ci push" }).click();
    await expect(dialog).toContainText("will be rejected");
    const revoke = dialog.getByRole("button", { name: "Revoke", exact: true });
    await dialog.getByLabel(/to confirm/).fill("ci pus");
    await expect(revoke).toBeDisabled();
    await dialog.getByLabel(/to confirm/).press("Enter");
    expect(await tried()).toBe(200);
    await dialog.getByLabel(/to confirm/).fill("ci push");
    await revoke.click();
    await expect(dialog).toBeHidden(); // until then no row can be seen, whatever became of it
    await expect(page.getByRole("row", { name: /ci push/ })).toHaveCount(0);
    expect(await tried()).toBe(401);

    await page.getByRole("button", { name: "Audit" }).click();
    await expect(page.getByRole("row", { name: /ci push/ }).getByRole("rowheader")).toHaveText(["revoke token", "create token"]);
  });

  test("admins cannot create tokens above their role, and other users see no admin page", async ({ page, serve }) => {
    const { server, owner } = await tokenServer(serve);
    const make = async (role: string) => {
      const response = await fetch(`${server.url}/api/tokens`, { method: "POST", headers: { Authorization: `Bearer ${owner}`, "Content-Type": "application/json" }, body: JSON.stringify({ name: `a ${role}`, role }) });
      return ((await response.json()) as { token: string }).token;
    };
    await signIn(page, server.url, await make("operator"));
    await expect(page.getByRole("link", { name: "Admin" })).toHaveCount(0);
    const asked: string[] = [];
    page.on("request", (r) => /api\/(tokens|audit)/.test(r.url()) && asked.push(r.url()));
    await page.goto(`${server.url}/admin?tab=audit`);
    await expect(page.getByRole("alert")).toContainText("requires the role admin");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("Sess");
    await expect(page.getByRole("option", { name: /^Sessions/ })).toBeVisible();
    await page.getByRole("combobox").fill("Admin");
    await expect(page.getByRole("status")).toContainText("No matches.");
    await page.keyboard.press("Escape");
    await expect(page.getByRole("combobox")).toHaveCount(0);
    expect(asked).toEqual([]);
    await page.getByRole("button", { name: /Signed in as/ }).click();
    await expect(page.getByRole("menuitem", { name: "Admin" })).toHaveCount(0);
    await page.getByRole("menuitem", { name: "Sign out" }).click();

    await signIn(page, `${server.url}/admin`, await make("admin"));
    await expect(page.getByRole("button", { name: /^(Queue|Sites|Dead letters)$/ })).toHaveCount(0);
    await expect(page.getByLabel("Site")).toHaveCount(0); // sites are for owners
    await page.getByRole("button", { name: "Create a token" }).click();
    await expect(page.getByLabel("Role").getByRole("option")).toHaveText(["viewer", "operator", "developer", "admin"]);
  });
});

test("secrets are set and deleted, and their values are never shown", async ({ page, server }) => {
  const name = `vault${process.env.TEST_WORKER_INDEX ?? ""}`;
  server.push(name, { "a.dig": "+a:\n  echo>: a\n" });
  const value = "s3cret-of-the-page";
  const answers: string[] = [];
  page.on("response", async (r) => /api\//.test(r.url()) && answers.push(await r.text().catch(() => "")));
  await page.goto("/admin?tab=secrets");
  await page.getByLabel("Project").selectOption(name);
  await page.getByRole("button", { name: "Set a secret" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("pg.password");
  await dialog.getByLabel("Value").fill(value);
  await expect(dialog.locator("code")).toHaveText(commands.setSecret(name, "pg.password"));
  await dialog.getByRole("button", { name: "Save" }).click();
  const list = page.getByRole("list", { name: `Secrets of ${name}` });
  await expect(list).toContainText("pg.password");
  await list.getByRole("button", { name: "Replace pg.password" }).click();
  await expect(dialog.getByLabel("Value")).toHaveValue("");
  await page.keyboard.press("Escape");
  expect(await kept(page)).not.toContain(value);
  expect(await page.content()).not.toContain(value);
  expect(answers.join("\n")).not.toContain(value);
  await list.getByRole("button", { name: "Delete pg.password" }).click();
  await dialog.getByLabel(/to confirm/).fill("pg.password");
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page.getByText(`${name} has no secrets.`)).toBeVisible();
});

test("the audit log has pages and shows rejected requests", async ({ page }) => {
  const asked: (string | null)[] = [];
  await page.route("**/api/audit?*", (r) => {
    const query = new URL(r.request().url()).searchParams;
    asked.push(query.get("last_id"));
    const from = Number(query.get("last_id") ?? 61);
    const many = Math.min(Number(query.get("page_size")), from - 1);
    const audits = Array.from({ length: many }, (_, i) => ({ id: String(from - 1 - i), at: "2026-11-20T00:00:00Z", who: "ada", action: "push", target: `project ${from - 1 - i}`, detail: i === 0 ? "Access denied" : null }));
    return r.fulfill({ json: { audits } });
  });
  await page.goto("/admin?tab=audit");
  await expect(page.getByRole("row")).toHaveCount(51);
  await expect(page.getByRole("row").nth(1)).toContainText("Access denied");
  await page.getByRole("button", { name: "Show earlier changes" }).click();
  await expect(page.getByRole("row")).toHaveCount(61);
  await expect(page.getByRole("button", { name: "Show earlier changes" })).toHaveCount(0);
  expect(asked).toEqual([null, "11"]);
});

test("waiting messages are listed with attempt and tasks, page by page", async ({ page, server }) => {
  server.push("waits", { "w.dig": "+p:\n  _parallel: true\n  +a:\n    wait>: 10h\n  +b:\n    wait>: 10h\n" });
  const attempt = server.begin("waits", "w", "--session", "2026-11-20");
  try {
    await page.goto("/admin?tab=queue");
    const row = page.getByRole("row", { name: new RegExp(`waits/w, attempt ${attempt} .*\\+w\\+p\\+a not due yet in [0-9]+ h`) });
    await expect(row).toBeVisible({ timeout: 20_000 });
    await expect(page.getByText(commands.queue("tasks"))).toBeVisible();
    await page.getByLabel("Messages of").selectOption("events");
    await expect(page.getByText(commands.queue("events"))).toBeVisible();
    await expect(page).toHaveURL(/queue=events/);
    await page.getByLabel("Messages of").selectOption("tasks");
    await row.getByRole("link").click();
    await expect(page).toHaveURL(new RegExp(`/attempts/${attempt}`));
  } finally {
    server.cli("kill", attempt);
  }
  const asked: (string | null)[] = [];
  await page.route("**/api/x/admin/queue?*", (r) => {
    const after = new URL(r.request().url()).searchParams.get("after");
    asked.push(after);
    const message = (n: number) => ({ name: `schedule/${n}`, what: "fire", attempt: null, tasks: [], count: 0, state: "ready", since: 1, due: 0, until: 0, deliveries: 0, size: 9 });
    const queue = { name: "tasks", ready: 60, later: 0, leased: 0, behind: 2, aside: null, oldest: Date.now() - 90_000 };
    return r.fulfill({ json: { at: 1, approximate: false, queues: [queue], queue: "tasks", messages: Array.from({ length: after ? 10 : 50 }, (_, i) => message(i + (after ? 50 : 0))), next: after ? null : "50" } });
  });
  await page.goto("/admin?tab=queue");
  await expect(page.getByText("60 ready; the oldest 1 min ago")).toBeVisible();
  await expect(page.getByText("2 behind another message")).toBeVisible();
  await page.getByRole("button", { name: "Show more" }).click();
  await expect(page.getByRole("row")).toHaveCount(61);
  await expect(page.getByRole("button", { name: "Show more" })).toHaveCount(0);
  expect(asked.filter((a) => a !== null)).toEqual(["50"]);
});

test("limits show their value, use and setting; sites link to their tokens", async ({ page }) => {
  await page.goto("/admin?tab=limits");
  await expect(page.getByRole("row", { name: /unfinished attempts of a site 100 attempts .* executor.attempt_max_run/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /kept after its end 30 days – executor.log_retention/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /an archive in a request 100 MB/ })).toBeVisible();
  await expect(page.getByText(commands.limits())).toBeVisible();
  await page.getByRole("button", { name: "Sites" }).click();
  await expect(page.getByText(commands.sites())).toBeVisible();
  await expect(page.getByRole("row", { name: /^0 / })).toBeVisible();
  await page.getByRole("button", { name: "Tokens of site 0" }).click();
  await expect(page).toHaveURL(/site=0/);
  await expect(page.getByLabel("Site", { exact: true })).toHaveValue("0");
});

test("Del asks for confirmation to revoke the focused token", async ({ page, server }) => {
  const name = `focused-${process.env.TEST_WORKER_INDEX ?? ""}`;
  server.cli("tokens", "create", "--name", name, "--role", "viewer");
  await page.goto("/admin");
  await page.keyboard.press("Delete");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.getByRole("button", { name: `Revoke ${name}` }).focus();
  await page.keyboard.press("Delete");
  await expect(page.getByRole("dialog")).toContainText(name);
});

test.describe("if requests fail", () => {
  test.use({ allowed: [/Failed to load resource/] });

  test("each section shows the error and can retry", async ({ page }) => {
    for (const [tab, path] of [["limits", "limits"], ["queue", "queue"], ["sites", "sites"]] as const) {
      let broken = true;
      await page.route(`**/api/x/admin/${path}*`, (r) => (broken ? r.fulfill({ status: 503, json: { message: "The server cannot answer this request now: try again", status: 503 } }) : r.continue()));
      await page.goto(`/admin?tab=${tab}`);
      await expect(page.getByRole("alert")).toContainText("cannot answer this request now", { timeout: 20_000 });
      broken = false;
      await page.getByRole("button", { name: "Try again" }).click();
      await expect(page.getByRole("alert")).toHaveCount(0, { timeout: 20_000 });
    }
  });
});

test.describe("for an admin of a site", () => {
  test.use({ session: { ...open, role: "admin", rights: { read: true, write: true, push: true, admin: true, owner: false } } });

  test("sections about all sites are hidden, with an explanation", async ({ page }) => {
    const asked: string[] = [];
    page.on("request", (r) => /x\/admin\/(queue|sites|dead)/.test(r.url()) && asked.push(r.url()));
    for (const tab of ["queue", "sites", "letters"]) {
      await page.goto(`/admin?tab=${tab}`);
      await expect(page.getByRole("alert")).toContainText("requires the role owner");
    }
    await expect(page.getByRole("button", { name: /^(Queue|Sites|Dead letters)$/ })).toHaveCount(0);
    await page.getByRole("button", { name: "Limits" }).click();
    await expect(page.getByRole("row", { name: /executor.attempt_max_run/ })).toBeVisible();
    expect(asked).toEqual([]);
  });
});

/** Messages that were put aside, as AWS has them. */
const letter = (n: number) => ({
  id: `5b0e6c2a-${n}`,
  queue: n === 3 ? "tasks" : "events",
  name: `4${n}/done`,
  sent: Date.parse("2026-11-20T00:00:00Z"),
  deliveries: 21 + n,
  returned: n - 1,
  size: 512,
  broken: n === 3 ? 'it has no attribute "id": zerodag did not send it' : null,
  what: n === 3 ? "" : "results",
  attempt: n === 3 ? null : { id: `4${n}`, site: n === 2 ? "7" : "0", project: { id: "1", name: "sales" }, workflow: "nightly" },
  tasks: n === 3 ? [] : ["+nightly+load+part-1"],
  count: n === 3 ? 0 : n,
});

test.describe("on AWS", () => {
  test.use({ session: { ...open, aws: true, live: "poll" }, allowed: [/Failed to load resource.*404/] });

  test("dead letters are viewed, selected and sent back", async ({ page }) => {
    let there = [letter(1), letter(2), letter(3)];
    const sent: string[] = [];
    await page.route("**/api/x/admin/dead-letters*", (r) => r.fulfill({ json: { at: 1, letters: there, all: true } }));
    await page.route("**/api/x/admin/dead-letters/**", (r) => {
      const id = /dead-letters\/([^/]+)/.exec(r.request().url())![1]!;
      if (r.request().method() === "GET") return r.fulfill({ json: { ...there.find((l) => l.id === id)!, body: { v: 1, event: "results", results: [{ event: "succeeded", run: { task: 2, d: 1 }, outcome: "(64 bytes, not shown)" }] } } });
      expect(r.request().headers()["x-zerodag-request"]).toBe("page");
      sent.push(id);
      there = there.filter((l) => l.id !== id);
      return r.fulfill({ json: { messages: 1 } });
    });
    await page.route("**/api/redrive", (r) => {
      expect(r.request().method()).toBe("POST");
      const messages = there.length;
      there = [];
      return r.fulfill({ json: { messages } });
    });
    for (const { theme, width } of looks) {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 812 });
      await page.goto("/admin?tab=letters");
      await expect(page.getByText(commands.letters())).toBeVisible();
      await expect(page.getByRole("checkbox")).toHaveCount(3);
      await page.getByRole("checkbox").first().click();
      await look(page, "admin-letters", width, theme);
      await page.getByRole("button", { name: "View message 41/done" }).click();
      await expect(page.getByLabel("Content of the message")).toContainText("not shown");
      await look(page, "admin-letter", width, theme);
      await page.keyboard.press("Escape");
    }
    await page.goto("/admin?tab=letters");
    await expect(page.getByRole("checkbox")).toHaveCount(3);
    await expect(page.getByRole("row", { name: /site 7/ }).getByRole("link")).toHaveCount(0);
    await expect(page.getByRole("row", { name: /attempt 41/ }).getByRole("link")).toHaveCount(1);
    await page.keyboard.press("j");
    await page.keyboard.press(" ");
    await page.keyboard.press("j");
    await page.keyboard.press(" ");
    await expect(page.getByText(commands.redrive([letter(1).id, letter(2).id]))).toBeVisible();
    await page.getByRole("button", { name: "Send 2 messages back" }).click();
    await expect(page.getByText("2 messages were sent back.")).toBeVisible();
    expect(sent).toEqual([letter(1).id, letter(2).id]);
    await expect(page.getByRole("checkbox")).toHaveCount(1);
    await page.getByRole("button", { name: "Send all back" }).click();
    await expect(page.getByText("One message was sent back.")).toBeVisible();
    await expect(page.getByRole("checkbox")).toHaveCount(0);
    await page.reload();
    await expect(page.getByText("There are no dead letters.")).toBeVisible();
    await expect(page.getByRole("button", { name: "Send all back" })).toBeDisabled();
  });

  test("the queue shows estimates and lists no messages", async ({ page }) => {
    await page.route("**/api/x/admin/queue?*", (r) => {
      const queue = (name: string) => ({ name, ready: 1200, later: 3, leased: 4, behind: 0, aside: 2, oldest: 0 });
      return r.fulfill({ json: { at: 1, approximate: true, queues: [queue("events"), queue("tasks")], queue: "tasks", messages: null, next: null } });
    });
    for (const { theme, width } of looks) {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 812 });
      await page.goto("/admin?tab=queue");
      await expect(page.getByText("about 1,200").first()).toBeVisible();
      await expect(page.getByText("2 dead letters").first()).toBeVisible();
      await expect(page.getByText("would hide it from the functions")).toBeVisible();
      await look(page, "admin-queue-aws", width, theme);
    }
  });
});

for (const { theme, width } of looks) {
  test(`the admin page is accessible at ${width} pixels, ${theme}`, async ({ page, server }) => {
    const project = `looks${process.env.TEST_WORKER_INDEX ?? ""}`;
    server.push(project, { "a.dig": "+a:\n  echo>: a\n" });
    server.cli("secrets", "--project", project, "--set", "pg.password=x", "mail.smtp.password=y");
    for (const name of ["nightly-push", "dashboard of the finance department, read only"]) server.cli("tokens", "create", "--name", name, "--role", "viewer");
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: width === 375 ? 812 : 900 });
    await page.goto("/admin");
    await expect(page.getByRole("row", { name: /nightly-push/ }).first()).toBeVisible();
    await look(page, "admin-tokens", width, theme);
    await page.getByRole("button", { name: "Create a token" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("ci");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await expect(page.getByLabel("New token")).toBeVisible();
    await look(page, "admin-made", width, theme);
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Revoke nightly-push" }).first().click();
    await look(page, "admin-revoke", width, theme);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Secrets" }).click();
    await page.getByLabel("Project").selectOption(project);
    await expect(page.getByText("mail.smtp.password")).toBeVisible();
    await look(page, "admin-secrets", width, theme);
    await page.getByRole("button", { name: "Set a secret" }).click();
    await page.getByRole("dialog").getByLabel("Value").fill("hidden");
    await look(page, "admin-set", width, theme);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Audit" }).click();
    await expect(page.getByRole("row", { name: /put secret|set secret|create token/ }).first()).toBeVisible();
    await look(page, "admin-audit", width, theme);
    await page.getByRole("button", { name: "Limits" }).click();
    await expect(page.getByRole("row", { name: /executor.attempt_max_run/ })).toBeVisible();
    await look(page, "admin-limits", width, theme);
    await page.getByRole("button", { name: "Queue" }).click();
    await expect(page.getByRole("row", { name: /long\/slow/ }).first()).toBeVisible();
    await look(page, "admin-queue", width, theme);
    await page.getByRole("button", { name: "Sites" }).click();
    await expect(page.getByRole("button", { name: "Tokens of site 0" })).toBeVisible();
    await look(page, "admin-sites", width, theme);
  });
}
