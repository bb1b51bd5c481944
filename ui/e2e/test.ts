import { expect, type Page, type Request, test as base } from "@playwright/test";
import { Server } from "./server";

/** What the page is told of a session; tests that need another one than that of their server answer with it. */
export const open = {
  authenticated: true,
  methods: [],
  oidc: null,
  user: null,
  rights: { read: true, write: true, push: true, admin: true, owner: true },
  timezone: "UTC",
  site: null,
  live: "stream",
  aws: false,
  version: "0.0.0",
};

/** No answer that a page asks for is larger, unpacked, in bytes: a function on AWS answers with 6 MB at most, as text of its own. */
const mostAnswered = 4 << 20;

/** Fails a test for what no page may do: errors, breaches of its policy, calls of other servers, answers that are too large for AWS. */
async function watch(page: Page, wrong: string[], allowed: RegExp[], sizes: Promise<void>[]) {
  const note = (text: string) => void (allowed.some((a) => a.test(text)) || wrong.push(text));
  page.on("console", (m) => m.type() === "error" && note(`console: ${m.text()}`));
  page.on("pageerror", (e) => note(`page: ${e.message}`));
  page.on("request", (r) => {
    const to = new URL(r.url());
    if (!["data:", "blob:"].includes(to.protocol) && to.hostname !== "127.0.0.1") note(`request to ${to.origin}`);
  });
  const measure = async (request: Request) => {
    const r = await request.response();
    if (!r?.headers()["content-type"]?.startsWith("application/json")) return; // streams and archives are no answers of one piece
    const size = (await r.body()).length;
    if (size > mostAnswered) note(`${size} bytes of ${r.url()}`);
  };
  page.on("requestfinished", (r) => void sizes.push(measure(r).catch(() => {}))); // of a page that is gone
  await page.exposeFunction("noteViolation", note);
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (e) =>
      (window as unknown as { noteViolation: (t: string) => void }).noteViolation(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`),
    );
  });
}

/** Starts a server of a test's own. */
export type Serve = (...options: string[]) => Promise<Server>;

type Fixtures = { allowed: RegExp[]; session: object | null; serve: Serve };

/** A test with a page that is watched, and with a server of its worker that has run example projects. */
export const test = base.extend<Fixtures & { guard: void }, { server: Server; examples: Examples }>({
  allowed: [[], { option: true }],
  session: [null, { option: true }],
  server: [
    async ({}, use) => {
      const server = new Server();
      await server.start();
      await use(server);
      server.stop();
    },
    { scope: "worker", timeout: 240_000 },
  ],
  examples: [async ({ server }, use) => use(await runExamples(server)), { scope: "worker", auto: true, timeout: 240_000 }],
  baseURL: async ({ server }, use) => use(server.url),
  // Fixtures end in reverse order: `guard` asks for this one before `page`, so that no page outlives its server and finds it gone.
  serve: async ({}, use) => {
    const started: Server[] = [];
    await use(async (...options) => {
      const server = new Server(options);
      started.push(server);
      await server.start();
      return server;
    });
    for (const server of started) server.stop();
  },
  guard: [
    async ({ serve: _, page, allowed, session }, use) => {
      const wrong: string[] = [];
      const sizes: Promise<void>[] = [];
      await watch(page, wrong, allowed, sizes);
      if (session) await page.route("**/api/x/session", (r) => r.fulfill({ json: session }));
      await use();
      await Promise.all(sizes);
      expect(wrong, "what no page may do").toEqual([]);
    },
    { auto: true },
  ],
});
export { expect };

export type Examples = { worked: string; failed: string; running: string; large: string; hostile: string };

const nightly = (extra: string) => `timezone: Asia/Tokyo
+extract:
  _parallel: true
  for_each>: {region: [eu, us, asia]}
  _do:
    +fetch:
      sh>: echo "fetching \${region}"${extra}
    +clean:
      sh>: printf '\\033[32mcleaned\\033[0m %s\\n' "\${region}"
+load:
  _parallel: true
  loop>: 4
  _do:
    +part:
      _retry: 1
      sh>: sh load.sh \${i} "\${broken}"
+report:
  echo>: report of \${session_date}
`;

const hourly = `schedule:
  hourly>: "15:00"
+x:
  echo>: hello
`;

const load = `#!/bin/sh
for n in $(seq 1 60); do echo "part $1: loaded $n rows"; done
if [ "$1" = 2 ] && [ -n "$2" ]; then
  echo 'psql: ERROR:  relation "events" does not exist' >&2
  echo 'LINE 1: select * from events' >&2
  exit 1
fi
`;

/** Text that would do harm where it became part of the page, or of the terminal. */
export const evil = `<img src=x onerror="document.title='taken'">`;

const hostile = `_export:
  "<b onclick=1": '${evil.replaceAll("'", "''")}'
+say:
  echo>: '${evil.replaceAll("'", "''")} \u202eesrever'
+fail:
  _env: {EVIL: '${evil.replaceAll("'", "''")}'}
  sh>: 'printf "%s\\n\\033]0;taken\\007\\033[31mred\\033[0m \\033[2Jgone\\n" "$EVIL"; exit 3'
  _error:
    fail>: '${evil.replaceAll("'", "''")}'
`;

/** Runs the projects that the tests look at. */
async function runExamples(server: Server): Promise<Examples> {
  server.push("sales", { "nightly.dig": nightly(""), "load.sh": load, "hourly.dig": hourly });
  const worked = server.begin("sales", "nightly", "--session", "2026-11-19", "-p", "broken=");
  await server.over(worked);
  server.push("sales", { "nightly.dig": nightly(" page 1"), "load.sh": load, "hourly.dig": hourly });
  const failed = server.begin("sales", "nightly", "--session", "2026-11-20", "-p", "broken=yes");
  server.push("bulk", { "wide.dig": "+all:\n  _parallel: true\n  loop>: 300\n  _do:\n    +part:\n      if>: ${i == 170}\n      _do:\n        fail>: part ${i} is broken\n" });
  server.push("odd", { "hostile.dig": hostile });
  server.push("long", { "slow.dig": "+parts:\n  _parallel: true\n  loop>: 3\n  _do:\n    +wait:\n      sh>: for n in $(seq 1 3000); do echo \"line $n of part ${i}\"; sleep 0.5; done\n" });
  const large = server.begin("bulk", "wide", "--session", "2026-11-20");
  const bad = server.begin("odd", "hostile", "--session", "2026-11-20");
  for (const attempt of [failed, large, bad]) await server.over(attempt);
  const running = server.begin("long", "slow", "--session", "2026-11-20");
  return { worked, failed, running, large, hostile: bad };
}
