import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

// Chromium without the interface of a desktop browser takes two thirds of the processor time, where a system has it.
const chromium = process.env.CHROMIUM ?? ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find((p) => existsSync(p));

// The browser is that of the system: none is downloaded. The program is the one that integration/browser has built.
export default defineConfig({
  testDir: "e2e",
  outputDir: "e2e/results",
  fullyParallel: false,
  workers: 2,
  timeout: 300_000, // a machine may be busy: these bounds only end what hangs
  expect: { timeout: 60_000 },
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    viewport: { width: 1440, height: 900 },
    launchOptions: { executablePath: chromium, args: ["--headless", "--no-sandbox"] },
  },
});
