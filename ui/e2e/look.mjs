import { chromium } from "@playwright/test";
const [, , base, out, ...paths] = process.argv;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--headless", "--no-sandbox"] });
for (const theme of ["light", "dark"]) for (const width of [1440, 375]) {
  const page = await browser.newPage({ viewport: { width, height: width === 375 ? 812 : 900 }, colorScheme: theme });
  page.on("console", (m) => console.log(m.type(), m.text()));
  page.on("pageerror", (e) => console.log("pageerror", e.message, e.stack));
  for (const p of paths) {
    await page.goto(base + p); await page.waitForTimeout(1500);
    await page.screenshot({ path: `${out}/${p.replace(/\W+/g, "_")}-${width}-${theme}.png` });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth); if (over > 0) console.log("overflow", p, width, over);
  }
  await page.close();
}
await browser.close();
