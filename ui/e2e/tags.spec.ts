import { expect, test } from "./test";

const tagged = `zerodag: 1
tags: [daily, {team: sales}]
+a:
  echo>: done
`;

test("tags and labels link to matching sessions", async ({ page, serve }) => {
  const server = await serve();
  server.push("shop", { "orders.dig": tagged, "plain.dig": "+a:\n  echo>: done\n" });
  const first = server.begin("shop", "orders", "--session", "2026-11-01", "--label", "ticket=OPS-1", "--label", "note=two words");
  const others = [server.begin("shop", "orders", "--session", "2026-11-02"), server.begin("shop", "plain", "--session", "2026-11-03")];
  for (const attempt of [first, ...others]) await server.over(attempt);

  await page.goto(`${server.url}/attempts/${first}`);
  await expect(page.getByText("note=two words")).toBeVisible();
  await page.getByRole("link", { name: "ticket=OPS-1" }).click();
  const rows = page.locator("[data-row]");
  await expect(rows).toHaveCount(1);
  const field = page.getByRole("searchbox");
  await expect(field).toHaveValue("label:ticket=OPS-1");

  await field.fill("tag:team=sales");
  await expect(rows).toHaveCount(2);
  await field.fill("plain");
  await expect(rows).toHaveCount(1);
  await field.fill("ops-1");
  await expect(rows).toHaveCount(1);
  await field.fill("tag:nobody");
  await expect(page.getByText("No matching sessions.")).toBeVisible();

  await page.goto(`${server.url}/projects/1/orders`);
  await page.getByRole("link", { name: "team=sales" }).click();
  await expect(rows).toHaveCount(2);
});
