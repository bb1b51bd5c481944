import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commands } from "../src/parts/commands";
import type { Server } from "./server";
import { expect, test } from "./test";

/** The schedule of the workflow `hourly` of the examples. */
async function schedule(server: Server): Promise<string> {
  const found = await server.get<{ schedules: { id: string; workflow: { name: string } }[] }>("/api/schedules");
  return found.schedules.find((s) => s.workflow.name === "hourly")!.id;
}

test("the program accepts every command line that the console shows", async ({ serve }) => {
  // What it starts is not to be seen on the pages of the other tests.
  const server = await serve();
  await runLines(server);
});

/** What a line prints that the program takes and the server refuses. */
function refused(run: () => string): string {
  try {
    return run();
  } catch (error) {
    return String((error as { stderr?: unknown }).stderr);
  }
}

/** The id in the first line of a list. */
const backfillOf = (list: string) => /^([0-9]+) /m.exec(list)![1]!;

async function runLines(server: Server) {
  const folder = mkdtempSync(join(tmpdir(), "zerodag-lines-"));
  const run = (line: string) => server.shell(line, folder);
  server.push("sales", { "nightly.dig": "+load:\n  sh>: echo it is broken; exit 1\n", "slow.dig": "+wait:\n  sh>: sleep 600\n", "hourly.dig": 'schedule:\n  hourly>: "15:00"\n+x:\n  echo>: hello\n' });
  const failed = server.begin("sales", "nightly", "--session", "2026-11-20");
  await server.over(failed);
  const token = /id: ([0-9]+)/.exec(run(commands.makeToken("of the page", "viewer", "0", 0, [])))![1]!;
  const ran: Record<keyof typeof commands, string> = {
    log: run(commands.log(failed, "+nightly+load")),
    retryFailed: run(commands.retryFailed(failed, true)) + run(commands.retryFailed(failed, false)),
    retryPart: (["only", "from", "until", "mark"] as const).map((part) => run(commands.retryPart(failed, part, "+nightly+load", false, part !== "only"))).join("") +
      run(commands.retryPart(failed, "until", "+nightly+load", true, true)),
    init: run(commands.init()),
    push: run(`${commands.push("hello")} --project hello/`),
    start: run(commands.start("hello", "hello")),
    startWith: run(`${commands.startWith("hello", "hello", "2026-11-20T00:00:00+09:00", { text: "a 'b'", n: 1 }, "page-1")} --output digdag`) +
      run(commands.startWith("hello", "hello", "2026-11-21T00:00:00+09:00", {}, null, new Date(Date.now() + 86_400_000).toISOString())),
    backfill: run(commands.backfill("sales", "hourly", "2026-11-17", 2)) + run("zerodag backfill sales slow --dates 2026-11-16"),
    backfills: run(commands.backfills("sales", "hourly")),
    killBackfill: run(commands.killBackfill(backfillOf(run(commands.backfills("sales", "slow"))))),
    skip: run(commands.skip(await schedule(server), 1)),
    disable: run(commands.disable(await schedule(server))),
    enable: run(commands.enable(await schedule(server))),
    fork: run(commands.fork(failed, 2)),
    makeToken: run(commands.makeToken("ci", "operator", null, 0, [])),
    revokeToken: run(commands.revokeToken(token, "0")),
    setSecret: run(`printf value | ${commands.setSecret("sales", "pg.password")}=-`), // without it the program asks on a terminal
    deleteSecret: run("zerodag secrets --project sales") + run(commands.deleteSecret("sales", "pg.password")) + run("zerodag secrets --project sales"),
    setPool: run(commands.setPool("warehouse", 2, null)) + run(commands.setPool("of-sales", 1, "sales")),
    pools: run(commands.pools()),
    deletePool: run(commands.deletePool("warehouse", null)) + run(commands.deletePool("of-sales", "sales")),
    queue: run(commands.queue("events")),
    limits: run(commands.limits()),
    sites: run(commands.sites()),
    letters: refused(() => run(commands.letters())),
    letter: refused(() => run(commands.letter("7"))),
    redrive: refused(() => run(commands.redrive([]))) + refused(() => run(commands.redrive(["7", "8"]))),
    kill: run(commands.kill(server.begin("sales", "slow", "--session", "2026-11-18"))),
    pause: run(commands.pause(server.begin("sales", "slow", "--session", "2026-11-19"))),
    pauseProject: run(commands.pauseProject("sales")) + refused(() => run(commands.start("sales", "slow"))) + run("zerodag project unpause sales"),
  };
  expect(ran.log).toContain("it is broken");
  expect(ran.retryFailed.match(/Started attempt/g)).toHaveLength(2);
  expect(ran.retryPart.match(/Started attempt/g)).toHaveLength(5);
  expect(ran.start).toContain("Started attempt");
  expect(ran.startWith).toContain("starts at");
  expect(ran.startWith).toContain("page-1");
  expect(ran.startWith).toContain("a 'b'");
  expect(ran.backfill.match(/2026-11-17/g)?.length).toBeGreaterThan(0);
  expect(ran.backfills).toContain("hourly");
  expect(ran.killBackfill).toMatch(/kill/);
  expect(ran.pauseProject).toContain("Project sales has been paused since");
  expect(ran.fork).toContain("Started attempt");
  expect(ran.makeToken).toContain("token: zdt_");
  expect(server.cli("tokens", "list")).not.toContain("of the page");
  expect(ran.deleteSecret.match(/pg\.password/g)?.length).toBeGreaterThan(0);
  expect(run("zerodag secrets --project sales")).not.toContain("pg.password");
  for (const line of [ran.letters, ran.letter, ran.redrive]) expect(line).toContain("the queues of this server do not keep any"); // only those of AWS do
  expect(ran.queue).toContain("events");
  expect(ran.limits).toContain("executor.attempt_max_run");
  expect(ran.sites).toMatch(/^0 /m);
  expect(ran.push).toContain("Uploaded hello,");
}

test("a server without projects explains how to create one", async ({ page, serve }) => {
  const empty = await serve();
  await page.goto(empty.url);
  await expect(page.getByText(commands.init())).toBeVisible();
  await expect(page.getByText(commands.start("hello", "hello"))).toBeVisible();
  await page.goto(`${empty.url}/projects`);
  await expect(page.getByText("This server has no projects yet.")).toBeVisible();
});
