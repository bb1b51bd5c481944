// The command line equivalent of each button: a test runs every one of them.

const safe = /^[\w@%+=:,./-]+$/;

/** Quotes a word for the shell. */
export const quote = (word: string): string => (safe.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** A session time in the zone of its workflow, as the command line expects it. */
const localTime = (session: string) => (session === "now" ? session : session.slice(0, 19).replace("T", " "));

/** The option for a pool of a project. */
const ofProject = (project: string | null) => (project === null ? "" : ` --project ${quote(project)}`);

/** The option for a different site. */
const atSite = (site: string | null) => (site === null ? "" : ` --site ${site}`);

export const commands = {
  retryFailed: (attempt: string, newest: boolean) => `zerodag retry ${attempt} --resume ${newest ? "--latest-revision" : "--keep-revision"}`,
  retryPart: (attempt: string, part: "only" | "from" | "until" | "mark", task: string, success: boolean, newest: boolean) => {
    const options = { only: "--only", from: "--resume-from", until: success ? "--all --until" : "--until", mark: "--mark-success" };
    return `zerodag retry ${attempt} ${options[part]} ${quote(task)} ${newest ? "--latest-revision" : "--keep-revision"}`;
  },
  kill: (attempt: string) => `zerodag kill ${attempt}`,
  pause: (attempt: string) => `zerodag pause ${attempt}`,
  pauseProject: (project: string) => `zerodag project pause ${quote(project)}`,
  log: (attempt: string, task: string) => `zerodag log ${attempt} ${quote(task)}`,
  init: () => "zerodag init hello",
  push: (project: string) => `zerodag push ${quote(project)}`,
  start: (project: string, workflow: string) => `zerodag start ${quote(project)} ${quote(workflow)} --session now`,
  startWith: (project: string, workflow: string, session: string, params: Record<string, unknown>, again: string | null, at = "") =>
    `${commands.start(project, workflow).replace(/now$/, () => quote(localTime(session)))}${Object.entries(params)
      .map(([name, value]) => ` -p ${quote(`${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)}`)
      .join("")}${again === null ? "" : ` --retry ${quote(again)}`}${at && ` --at ${quote(at)}`}`,
  backfill: (project: string, workflow: string, from: string, count: number, parallel = 1) =>
    `zerodag backfill ${quote(project)} ${quote(workflow)} --from ${from} --count ${count} --parallel ${parallel} --existing skip`,
  backfills: (project: string, workflow: string) => `zerodag backfill list ${quote(project)} ${quote(workflow)}`,
  killBackfill: (backfill: string) => `zerodag backfill kill ${backfill}`,
  skip: (schedule: string, count: number) => `zerodag reschedule ${schedule} --skip ${count}`,
  enable: (schedule: string) => `zerodag enable ${schedule}`,
  disable: (schedule: string) => `zerodag disable ${schedule}`,
  makeToken: (name: string, role: string, site: string | null, days: number, projects: string[]) =>
    `zerodag tokens create --name ${quote(name)} --role ${role}${projects.map((p) => ` --project ${quote(p)}`).join("")}${days > 0 ? ` --expires ${days}d` : ""}${atSite(site)}`,
  revokeToken: (token: string, site: string | null) => `zerodag tokens revoke ${token}${atSite(site)}`,
  setSecret: (project: string, key: string) => `zerodag secrets --project ${quote(project)} --set ${quote(key)}`,
  deleteSecret: (project: string, key: string) => `zerodag secrets --project ${quote(project)} --delete ${quote(key)}`,
  pools: () => "zerodag pool list",
  setPool: (pool: string, slots: number, project: string | null) => `zerodag pool set ${quote(pool)} ${slots}${ofProject(project)}`,
  deletePool: (pool: string, project: string | null) => `zerodag pool delete ${quote(pool)}${ofProject(project)}`,
  queue: (queue: string) => `zerodag admin queue --queue ${queue}`,
  limits: () => "zerodag admin limits",
  sites: () => "zerodag admin sites",
  letters: () => "zerodag admin dead-letters",
  letter: (letter: string) => `zerodag admin dead-letters ${quote(letter)}`,
  redrive: (letters: string[]) => ["zerodag admin redrive", ...letters.map(quote)].join(" "),
  fork: (attempt: string, seq: number) => `zerodag fork ${attempt} --at ${seq}`,
};
