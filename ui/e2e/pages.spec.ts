import { look, looks } from "./looks";
import { expect, open, test } from "./test";

for (const { theme, width } of looks) {
  test(`every page is accessible at ${width} pixels, ${theme}`, async ({ page, examples, allowed }) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: width === 375 ? 812 : 900 });
    await page.goto("/");
    await expect(page.getByRole("region", { name: "Failed" })).toBeVisible();
    await look(page, "home", width, theme);
    await page.getByRole("button", { name: "Retry" }).first().click();
    await expect(page.getByRole("dialog")).toContainText("zerodag retry");
    await look(page, "retry", width, theme);
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible();
    await look(page, "keys", width, theme);
    await page.goto(`/attempts/${examples.failed}`);
    await expect(page.getByRole("tree")).toBeVisible();
    await look(page, "attempt", width, theme);
    await page.getByRole("button", { name: "Log", exact: true }).click();
    await expect(page.getByRole("log").getByText("LINE 1: select * from events")).toBeVisible();
    await page.getByRole("button", { name: /since the last success/ }).click();
    await look(page, "attempt-log", width, theme);
    await page.goto(`/attempts/${examples.failed}?task=${encodeURIComponent("+nightly+load^sub+loop-2+part")}&tab=in`);
    await expect(page.getByRole("tabpanel")).toContainText("All parameters");
    await look(page, "attempt-in", width, theme);
    await page.goto(`/attempts/${examples.large}`);
    await expect(page.getByRole("treeitem", { name: /#170/ })).toBeVisible();
    await look(page, "attempt-large", width, theme);
    await page.goto(`/attempts/${examples.hostile}?task=${encodeURIComponent("+hostile+fail")}`);
    await expect(page.getByRole("log")).toBeVisible();
    await look(page, "attempt-hostile", width, theme);
    for (const [path, name] of [["/sessions", "sessions"], ["/sessions?state=killed&q=nothing", "sessions-none"], ["/projects", "projects"], ["/projects/1", "project"], ["/nowhere", "missing"]]) {
      if (name === "missing") allowed.push(/Failed to load resource.*404/); // the page itself
      await page.goto(path!);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
      await look(page, name!, width, theme);
    }
  });
}

test("the theme and the time zone are remembered", async ({ page }) => {
  await page.goto("/sessions");
  await page.getByRole("button", { name: /^Theme/ }).click();
  await page.getByRole("menuitem", { name: "Dark" }).click();
  await page.getByRole("button", { name: /^Time zone/ }).click();
  await page.getByRole("menuitem", { name: "UTC" }).click();
  await expect(page.getByText("2026-11-19 15:00 (2026-11-20 00:00 +09:00)").first()).toBeVisible();
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await expect(page.getByText("2026-11-19 15:00 (2026-11-20 00:00 +09:00)").first()).toBeVisible();
});

test("seen failures are hidden until requested again", async ({ page }) => {
  await page.goto("/");
  const failed = page.getByRole("region", { name: "Failed" });
  await expect(failed.getByRole("listitem").first()).toBeVisible();
  await failed.getByRole("button", { name: "Mark as seen" }).click();
  await expect(failed).toContainText("Nothing failed since");
  await failed.getByRole("button", { name: "Show the last day again" }).click();
  await expect(failed.getByRole("listitem").first()).toBeVisible();
});

test.describe("if the server rejects requests or is unavailable", () => {
  test.use({ allowed: [/Failed to load resource/] });

  test("a page shows the error with the request id, and recovers on retry", async ({ page }) => {
    let broken = true;
    await page.route("**/api/projects", (r) =>
      broken ? r.fulfill({ status: 503, headers: { "apigw-requestid": "Ab12" }, json: { message: "The store does not answer", status: 503 } }) : r.continue(),
    );
    await page.goto("/projects");
    await expect(page.getByRole("alert")).toContainText("The store does not answer");
    await expect(page.getByRole("alert")).toContainText("Ab12");
    broken = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await expect(page.getByRole("link", { name: /sales/ })).toBeVisible();
  });

  test("missing and forbidden pages have different messages", async ({ page }) => {
    await page.goto("/attempts/999999");
    await expect(page.getByRole("alert")).toContainText("Resource does not exist");
    await page.route("**/api/projects", (r) => r.fulfill({ status: 403, json: { message: "Access denied: this requires the role viewer", status: 403 } }));
    await page.goto("/projects");
    await expect(page.getByRole("alert")).toContainText("Ask the administrator of this server");
  });

  test("an offline browser shows a note", async ({ page, context }) => {
    await page.goto("/");
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await context.setOffline(true);
    await expect(page.getByText("This browser is offline")).toBeVisible();
    await context.setOffline(false);
    await expect(page.getByText("This browser is offline")).toHaveCount(0);
  });
});

test.describe("sign-in", () => {
  test.use({ allowed: [/Failed to load resource/] });

  test("pages require a sign-in, wrong tokens are reported, and the requested page follows", async ({ page, examples }) => {
    let signedIn = false;
    await page.route("**/api/x/session", async (r) => {
      const out = { ...open, authenticated: false, methods: ["token", "basic", "oidc"], oidc: { name: "Cognito", url: "/api/x/session/oidc" }, user: null };
      const request = r.request();
      expect(request.headers()["x-zerodag-request"]).toBe("page");
      if (request.method() === "DELETE") signedIn = false;
      if (request.method() === "POST") {
        if (request.postDataJSON().token !== "right") return r.fulfill({ status: 401, json: { message: "wrong token", status: 401 } });
        signedIn = true;
      }
      if (request.method() === "DELETE") return r.fulfill({ status: 204 });
      return r.fulfill({ json: signedIn ? { ...out, authenticated: true, user: "ada" } : out });
    });
    for (const { theme, width } of looks) {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 812 });
      await page.goto(`/attempts/${examples.failed}?tab=in`);
      await expect(page.getByRole("link", { name: "Continue with Cognito" })).toHaveAttribute("href", `/api/x/session/oidc?return=${encodeURIComponent(`/attempts/${examples.failed}?tab=in`)}`);
      await look(page, "signin", width, theme);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).first().click();
    await expect(page.getByRole("alert")).toHaveText("wrong token");
    await page.getByLabel("Token").fill("right");
    await page.getByRole("button", { name: "Sign in" }).first().click();
    await expect(page.getByRole("tab", { name: "Input", selected: true })).toBeVisible();
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain("right");
    await page.getByRole("button", { name: "Signed in as ada" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await expect(page.getByLabel("Token")).toBeVisible();
  });

  test("an expired session leads to the sign-in page", async ({ page }) => {
    let ended = false;
    await page.route("**/api/x/session", (r) => r.fulfill({ json: { ...open, authenticated: !ended, methods: ["token"] } }));
    await page.route("**/api/projects", (r) => {
      ended = true;
      return r.fulfill({ status: 401, json: { message: "unauthorized", status: 401 } });
    });
    await page.goto("/projects");
    await expect(page.getByLabel("Token")).toBeVisible();
  });
});
