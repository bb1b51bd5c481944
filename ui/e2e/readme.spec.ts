import { pictures } from "./looks";
import { Server } from "./server";
import { expect, test } from "./test";

// The pictures of README: `make console-pictures` takes them again.

const daily = `timezone: Asia/Tokyo
schedule:
  daily>: 07:00:00
+prepare:
  echo>: preparing \${session_date}
+load:
  _parallel: true
  +orders:
    sh>: sh load.sh orders 0.06 \${session_date}
  +customers:
    sh>: sh load.sh customers 0.09 \${session_date}
  +events:
    _retry: 1
    sh>: sh load.sh events 0.04 \${session_date}
+check:
  for_each>: {table: [orders, customers, events]}
  _do:
    sh>: sh load.sh \${table} 0.02
+report:
  sh>: sh load.sh report 0.03
`;

const load = `#!/bin/sh
for part in 1 2 3 4 5 6; do echo "$1: part $part of 6, $((part * 1831)) rows"; done
sleep $2
case "$1 $3" in
"events "*-1[19])
  echo 'psql: ERROR:  relation "events_v2" does not exist' >&2
  echo 'LINE 1: insert into events_v2 select * from staging.events' >&2
  echo '                    ^' >&2
  exit 1
  ;;
esac
`;

test("the pictures of README", async ({ page }) => {
  const server = new Server();
  await server.start();
  try {
    server.push("sales", { "daily_load.dig": daily, "load.sh": load, "hourly_sync.dig": "schedule:\n  hourly>: '15:00'\n+sync:\n  echo>: synced\n" });
    const attempts: string[] = [];
    for (let d = 1; d <= 19; d++) {
      const attempt = server.begin("sales", "daily_load", "--session", `2026-11-${String(d).padStart(2, "0")}`);
      await server.over(attempt);
      attempts.push(attempt);
      if (d === 18) server.push("sales", { "daily_load.dig": daily.replace("preparing", "preparing the load of") });
    }
    server.push("crm", { "export.dig": "+wait:\n  sh>: sleep 600\n+send:\n  echo>: sent\n" });
    server.begin("crm", "export", "--session", "2026-11-20");
    const failed = attempts.at(-1)!;
    const { projects } = await server.get<{ projects: { id: string }[] }>("/api/projects?name=sales");
    await page.setViewportSize({ width: 1280, height: 760 });
    for (const theme of ["light", "dark"] as const) {
      const take = async (name: string) => {
        await page.evaluate(() => document.fonts.ready);
        await page.screenshot({ path: `${pictures}/readme-${name}-${theme}.png`, animations: "disabled" });
      };
      await page.emulateMedia({ colorScheme: theme });
      await page.goto(server.url);
      await expect(page.getByRole("region", { name: "Failed" })).toContainText("sales/daily_load");
      await expect(page.getByRole("region", { name: "Next" })).toContainText("sales/hourly_sync");
      await take("home");
      await page.getByRole("link", { name: "Log" }).first().click();
      await expect(page.getByRole("log").getByText('relation "events_v2" does not exist').first()).toBeVisible();
      await page.getByRole("button", { name: /since it last worked/ }).click();
      await take("attempt");
      await page.goto(`${server.url}/projects/${projects[0]!.id}/daily_load`);
      await page.getByRole("button", { name: "Open +load" }).click();
      await page.locator(`[href^="/attempts/${failed}?task="]`).first().hover();
      await expect(page.getByRole("complementary", { name: "The session" })).toContainText("Since it last worked");
      await take("workflow");
    }
  } finally {
    server.stop();
  }
});
