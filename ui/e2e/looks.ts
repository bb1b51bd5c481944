import AxeBuilder from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";
import { mkdirSync } from "node:fs";

export const pictures = process.env.ZERODAG_PICTURES ?? "e2e/pictures";
mkdirSync(pictures, { recursive: true });

export const looks = (["light", "dark"] as const).flatMap((theme) => [1440, 375].map((width) => ({ theme, width })));

/** Looks at what is shown now: nothing that keeps somebody out, nothing wider than the screen; and keeps a picture. */
export async function look(page: Page, name: string, width: number, theme: string) {
  await page.evaluate(() => document.fonts.ready);
  // Colors that are still on their way from the last theme to this one are those of neither.
  await page.evaluate(() => Promise.allSettled(document.getAnimations().filter((a) => a instanceof CSSTransition).map((a) => a.finished)));
  // What is narrow and dark is made of what is narrow and of what is dark, which were looked at: a picture is enough.
  if (width !== 375 || theme !== "dark") await reads(page, name, theme);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), `${name}: wider than the screen`).toBeLessThanOrEqual(0);
  await page.screenshot({ path: `${pictures}/${name}-${width}-${theme}.png`, animations: "disabled" });
}

/** Nothing keeps out people who do not read the page by sight, or who need its colors to differ. */
async function reads(page: Page, name: string, theme: string) {
  // No page has frames, for which a second page would be opened; and what passes is not asked for: both take seconds.
  const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ["violations"] });
  // A theme changes nothing but colors: the other rules have judged the same page in the light.
  if (theme === "dark") axe.withRules(["color-contrast", "link-in-text-block"]);
  const report = await axe.analyze();
  const serious = report.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  expect(serious.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join("; ")}`), name).toEqual([]);
}
