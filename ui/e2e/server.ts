import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const program = process.env.ZERODAG_PROGRAM ?? "";

/** A server of the program on a folder and a port of its own. */
export class Server {
  url = "";
  private process: ChildProcess | undefined;
  readonly folder = mkdtempSync(join(tmpdir(), "zerodag-console-"));

  constructor(private readonly options: string[] = []) {}

  async start() {
    if (program === "") throw new Error("ZERODAG_PROGRAM names no program: run `go test ./integration/browser`");
    const info = join(this.folder, "runtime.json");
    const args = ["server", "-n", "0", "-o", join(this.folder, "data"), "-X", `server.runtime-info.path=${info}`, ...this.options];
    this.process = spawn(program, args, { env: this.environment(), stdio: "ignore" });
    for (let tries = 0; this.url === ""; tries++) {
      if (tries > 3600) throw new Error("the server does not start");
      await pause(50);
      try {
        const [address] = JSON.parse(readFileSync(info, "utf8")).local_addresses;
        this.url = `http://${address.host}:${address.port}`;
      } catch {
        // It is not written yet.
      }
    }
  }

  stop() {
    this.process?.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }

  private environment() {
    return { ...process.env, ZERODAG_CONFIG_HOME: this.folder, TZ: "UTC" };
  }

  /** Runs the command line against this server and returns what it prints. */
  cli(...args: string[]): string {
    return execFileSync(program, [...args, "-e", this.url], { env: this.environment(), encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  /** Runs a line as a person types it, in a folder, with this server as the one that it is about. */
  shell(line: string, folder: string): string {
    const words = line.replace(/(^|\| )zerodag /, '$1"$ZERODAG_PROGRAM" ');
    return execFileSync("/bin/sh", ["-c", words], { cwd: folder, env: { ...this.environment(), ZERODAG_ENDPOINT: this.url }, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  /** Pushes a project of these files. */
  push(project: string, files: Record<string, string>) {
    const folder = join(this.folder, "projects", project);
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    this.cli("push", project, "--project", folder);
  }

  /** Starts an attempt and returns its id. */
  begin(project: string, workflow: string, ...options: string[]): string {
    const printed = this.cli("start", project, workflow, ...options, "--output", "digdag");
    const id = /attempt id: ([0-9]+)/.exec(printed)?.[1];
    if (id === undefined) throw new Error(`start printed no id: ${printed}`);
    return id;
  }

  async get<T>(path: string): Promise<T> {
    const response = await fetch(this.url + path);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Waits until an attempt is over and says whether it succeeded. */
  async over(attempt: string): Promise<boolean> {
    for (;;) {
      const a = await this.get<{ done: boolean; success: boolean }>(`/api/attempts/${attempt}`);
      if (a.done) return a.success;
      await pause(50);
    }
  }
}
