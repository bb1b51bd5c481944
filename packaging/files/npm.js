#!/usr/bin/env node
// Runs the program that npm has installed for this system.
"use strict";
const { spawn } = require("node:child_process");

const name = `@zerodag/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/zerodag${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`error: the package ${name} is not installed: zerodag has none for this system, or npm was told to omit optional packages`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`error: ${error.message}`);
  process.exit(1);
});
// A terminal sends Ctrl-C to both, and a second one means more than the first: it is not passed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
