import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The built page lies in a folder of its own below dist, which is embedded whole: beside it is a line of HTML for
// a program that was built without Node.
export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "dist/page",
    emptyOutDir: true,
    manifest: true,
    target: "es2023",
    assetsInlineLimit: 0, // the policy of the page allows fonts of this server only
    modulePreload: { polyfill: false },
  },
  worker: { format: "es" },
  server: {
    host: "127.0.0.1",
    proxy: { "/api": process.env.ZERODAG_ENDPOINT ?? "http://127.0.0.1:65432" },
  },
  test: { include: ["src/**/*.test.ts"] },
});
