import { defineConfig } from "@playwright/test";

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
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--headless", "--no-sandbox"] },
  },
});
