import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { commands } from "../src/parts/commands";
import { look, looks } from "./looks";
import { Server } from "./server";
import { expect, open, test } from "./test";

/** A server on which callers show a token, and the one of its owner. */
async function tokenServer() {
  const server = new Server(["-X", "server.authenticator.type=token"]);
  await server.start();
  return { server, owner: readFileSync(join(server.folder, "data", "admin.token"), "utf8").trim() };
}

async function signIn(page: Page, address: string, token: string) {
  await page.goto(address);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
}

/** All that a page keeps beyond what it shows: where a secret must not be. */
const kept = (page: Page) =>
  page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state, performance.getEntriesByType("resource").map((e) => e.name)]));

test.describe("on a server with tokens", () => {
  test.use({ allowed: [/Failed to load resource.*(401|403)/] });

  test("a token is made, shown once, kept nowhere, and revoked by its name", async ({ page, context }) => {
    const { server, owner } = await tokenServer();
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    try {
      await signIn(page, `${server.url}/admin`, owner);
      await page.getByRole("button", { name: "Make a token" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill("ci push");
      await dialog.getByLabel("Role").selectOption("operator");
      await expect(dialog.locator("code")).toHaveText(commands.makeToken("ci push", "operator", null));
      await dialog.getByRole("button", { name: "Make it" }).click();
      const token = (await dialog.getByLabel("Text of the token").textContent())!;
      expect(token).toMatch(/^zdt_/);
      await dialog.getByRole("button", { name: "Copy" }).click();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(token);
      expect(await kept(page)).not.toContain(token);
      await dialog.getByRole("button", { name: "Done" }).click();
      await expect(page.getByRole("row", { name: /ci push operator 0 .* never/ })).toBeVisible();
      expect(await page.content()).not.toContain(token);
      await page.getByRole("button", { name: "Make a token" }).click();
      await expect(page.getByRole("dialog").getByLabel("Name")).toHaveValue("");
      await page.keyboard.press("Escape");

      const tried = () => fetch(`${server.url}/api/projects`, { headers: { Authorization: `Bearer ${token}` } }).then((r) => r.status);
      expect(await tried()).toBe(200);
      await page.getByRole("button", { name: "Revoke ci push" }).click();
      await expect(dialog).toContainText("is refused from now on");
      const revoke = dialog.getByRole("button", { name: "Revoke", exact: true });
      await dialog.getByLabel(/to go on/).fill("ci pus");
      await expect(revoke).toBeDisabled();
      await dialog.getByLabel(/to go on/).press("Enter");
      expect(await tried()).toBe(200);
      await dialog.getByLabel(/to go on/).fill("ci push");
      await revoke.click();
      await expect(dialog).toBeHidden(); // until then no row can be seen, whatever became of it
      await expect(page.getByRole("row", { name: /ci push/ })).toHaveCount(0);
      expect(await tried()).toBe(401);

      await page.getByRole("button", { name: "Audit" }).click();
      await expect(page.getByRole("row", { name: /ci push/ }).getByRole("rowheader")).toHaveText(["revoke token", "create token"]);
    } finally {
      server.stop();
    }
  });

  test("an admin makes no token above their own role, and who is none sees no way there", async ({ page }) => {
    const { server, owner } = await tokenServer();
    const make = async (role: string) => {
      const response = await fetch(`${server.url}/api/tokens`, { method: "POST", headers: { Authorization: `Bearer ${owner}`, "Content-Type": "application/json" }, body: JSON.stringify({ name: `a ${role}`, role }) });
      return ((await response.json()) as { token: string }).token;
    };
    try {
      await signIn(page, server.url, await make("operator"));
      await expect(page.getByRole("link", { name: "Admin" })).toHaveCount(0);
      const asked: string[] = [];
      page.on("request", (r) => /api\/(tokens|audit)/.test(r.url()) && asked.push(r.url()));
      await page.goto(`${server.url}/admin?tab=audit`);
      await expect(page.getByRole("alert")).toContainText("those who have the role admin");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("Sess");
      await expect(page.getByRole("option", { name: /^Sessions/ })).toBeVisible();
      await page.getByRole("combobox").fill("Admin");
      await expect(page.getByRole("status")).toContainText("Nothing has this in its name");
      await page.keyboard.press("Escape");
      await expect(page.getByRole("combobox")).toHaveCount(0);
      expect(asked).toEqual([]);
      await page.getByRole("button", { name: /Signed in as/ }).click();
      await expect(page.getByRole("menuitem", { name: "Admin" })).toHaveCount(0);
      await page.getByRole("menuitem", { name: "Sign out" }).click();

      await signIn(page, `${server.url}/admin`, await make("admin"));
      await expect(page.getByRole("button", { name: "Put aside" })).toHaveCount(0);
      await expect(page.getByLabel("Site")).toHaveCount(0); // sites are for owners
      await page.getByRole("button", { name: "Make a token" }).click();
      await expect(page.getByRole("option")).toHaveText(["viewer", "operator", "admin"]);
    } finally {
      server.stop();
    }
  });
});

test("secrets are set and deleted, and their values never come back", async ({ page, server }) => {
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
  await dialog.getByRole("button", { name: "Set it" }).click();
  const list = page.getByRole("list", { name: `Secrets of ${name}` });
  await expect(list).toContainText("pg.password");
  await list.getByRole("button", { name: "Set anew pg.password" }).click();
  await expect(dialog.getByLabel("Value")).toHaveValue("");
  await page.keyboard.press("Escape");
  expect(await kept(page)).not.toContain(value);
  expect(await page.content()).not.toContain(value);
  expect(answers.join("\n")).not.toContain(value);
  await list.getByRole("button", { name: "Delete pg.password" }).click();
  await dialog.getByLabel(/to go on/).fill("pg.password");
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page.getByText(`${name} has no secrets.`)).toBeVisible();
});

test("the audit log is read page by page, and says what was refused", async ({ page }) => {
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
  await page.getByRole("button", { name: "Show earlier ones" }).click();
  await expect(page.getByRole("row")).toHaveCount(61);
  await expect(page.getByRole("button", { name: "Show earlier ones" })).toHaveCount(0);
  expect(asked).toEqual([null, "11"]);
});

test.describe("on AWS", () => {
  test.use({ session: { ...open, aws: true, live: "poll" } });

  test("messages that were put aside are sent back", async ({ page }) => {
    let sent = 0;
    await page.route("**/api/redrive", (r) => {
      expect(r.request().method()).toBe("POST");
      expect(r.request().headers()["x-zerodag-request"]).toBe("page");
      return r.fulfill({ json: { messages: ++sent === 1 ? 3 : 0 } });
    });
    for (const { theme, width } of looks) {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 812 });
      await page.goto("/admin?tab=aside");
      await expect(page.getByText(commands.redrive())).toBeVisible();
      await look(page, "admin-aside", width, theme);
    }
    await page.getByRole("button", { name: "Send them back" }).click();
    await expect(page.getByText("3 messages were sent back.")).toBeVisible();
    await page.getByRole("button", { name: "Send them back" }).click();
    await expect(page.getByText("No message was put aside.")).toBeVisible();
  });
});

for (const { theme, width } of looks) {
  test(`the admin page can be read at ${width} pixels, ${theme}`, async ({ page, server }) => {
    const project = `looks${process.env.TEST_WORKER_INDEX ?? ""}`;
    server.push(project, { "a.dig": "+a:\n  echo>: a\n" });
    server.cli("secrets", "--project", project, "--set", "pg.password=x", "mail.smtp.password=y");
    for (const name of ["nightly-push", "dashboard of the finance department, read only"]) server.cli("tokens", "create", "--name", name, "--role", "viewer");
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: width === 375 ? 812 : 900 });
    await page.goto("/admin");
    await expect(page.getByRole("row", { name: /nightly-push/ }).first()).toBeVisible();
    await look(page, "admin-tokens", width, theme);
    await page.getByRole("button", { name: "Make a token" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("ci");
    await page.getByRole("button", { name: "Make it" }).click();
    await expect(page.getByLabel("Text of the token")).toBeVisible();
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
  });
}
