import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { Provider } from "./provider";
import { expect, test } from "./test";

// The browser notes each answer of 401 and 403 on its console.
test.use({ allowed: [/Failed to load resource.*(401|403)/] });

/** What scripts of the page can see of who has signed in: nothing. */
async function holdsNothing(page: Page, ...secrets: string[]) {
  const seen = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state]));
  for (const secret of secrets) expect(seen).not.toContain(secret);
  expect(await page.evaluate(() => document.cookie)).toBe("");
}

test("a token signs in, the session survives navigation, and signing out ends it", async ({ page, context, serve }) => {
  const server = await serve("-X", "server.authenticator.type=token");
  const token = readFileSync(join(server.folder, "data", "admin.token"), "utf8").trim();
  await page.goto(`${server.url}/projects`);
  await page.getByLabel("Token").fill("zd_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByText("This server has no projects yet.")).toBeVisible();
  await holdsNothing(page, token);
  const [cookie] = await context.cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
  expect(cookie!.value).not.toContain(token);
  await page.reload();
  await expect(page.getByText("This server has no projects yet.")).toBeVisible();
  // A form of another page sends the cookie and no header: it changes nothing.
  const forged = await page.evaluate(async () => (await fetch("/api/tokens", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"name":"x","role":"admin"}' })).status);
  expect(forged).toBe(403);
  await page.getByRole("button", { name: /Signed in as/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page.getByLabel("Token")).toBeVisible();
  expect(await page.evaluate(async () => (await fetch("/api/projects")).status)).toBe(401);
});

test("signing out applies to all tabs, and so do changes", async ({ page, context, allowed, serve }) => {
  allowed.push(/Failed to load resource/);
  const server = await serve("-X", "server.authenticator.type=token");
  await page.goto(`${server.url}/admin`);
  const other = await context.newPage();
  await other.goto(`${server.url}/projects`);
  await page.getByLabel("Token").fill(readFileSync(join(server.folder, "data", "admin.token"), "utf8").trim());
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("button", { name: "Create a token" })).toBeVisible();
  await expect(other.getByText("This server has no projects yet.")).toBeVisible(); // who signs in in one tab is in in all
  await other.goto(`${server.url}/admin`);
  await expect(other.getByRole("button", { name: "Create a token" })).toBeVisible();
  await page.getByRole("button", { name: "Create a token" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("made here");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await expect(other.getByRole("row", { name: /made here/ })).toBeVisible();
  await page.getByRole("button", { name: "Done" }).click();
  await other.getByRole("button", { name: /Signed in as/ }).click();
  await other.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page.getByLabel("Token")).toBeVisible();
  await expect(page.getByText("made here")).toHaveCount(0);
  // Whoever signs in next is shown nothing of before, not even for a moment.
  await page.route("**/api/tokens*", () => {}); // no answer comes
  await page.getByLabel("Token").fill(readFileSync(join(server.folder, "data", "admin.token"), "utf8").trim());
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByText("made here")).toHaveCount(0);
});

test("signing in with user and password", async ({ page, serve }) => {
  const server = await serve("-X", "server.authenticator.type=basic", "-X", "server.authenticator.basic.username=ada", "-X", "server.authenticator.basic.password=correct horse");
  await page.goto(server.url);
  await page.getByLabel("User").fill("ada");
  await page.getByLabel("Password").fill("correct horse");
  await page.locator("form", { hasText: "Password" }).getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(/fine/);
  await holdsNothing(page, "correct horse");
});

/** A port that nothing listens on: the provider has to know the address of the server before it starts. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((done) => probe.listen(0, "127.0.0.1", done));
  const { port } = probe.address() as AddressInfo;
  await new Promise((done) => probe.close(done));
  return port;
}

test("an identity provider signs in only users with a grant", async ({ page, serve }) => {
  const provider = new Provider();
  await provider.start();
  const port = await freePort();
  const oidc = { issuer: provider.issuer, "client-id": "zerodag", address: `http://127.0.0.1:${port}`, grants: "group:oncall=operator", name: "Staff" };
  const server = await serve("-n", String(port), "-X", "server.authenticator.type=token", ...Object.entries(oidc).flatMap(([k, v]) => ["-X", `server.authenticator.oidc.${k}=${v}`]));
  try {
    await page.goto(`${server.url}/sessions?state=error`);
    await page.getByRole("link", { name: "Continue with Staff" }).click();
    await expect(page).toHaveURL(`${server.url}/sessions?state=error`);
    await page.getByRole("button", { name: "Signed in as ada@example.com" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await expect(page.getByRole("link", { name: "Continue with Staff" })).toBeVisible();
    provider.person = { ...provider.person, groups: ["visitors"] };
    await page.getByRole("link", { name: "Continue with Staff" }).click();
    await expect(page.getByRole("alert")).toBeVisible();
    await expect(page.getByRole("link", { name: "Continue with Staff" })).toBeVisible();
  } finally {
    provider.stop();
  }
});
