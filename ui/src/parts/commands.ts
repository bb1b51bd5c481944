// What each button does, as the line that does the same on the command line: a test runs every one against the program.

const safe = /^[\w@%+=:,./-]+$/;

/** A word as a shell reads it back. */
export const quote = (word: string): string => (safe.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

export const commands = {
  retryFailed: (attempt: string, newest: boolean) => `zerodag retry ${attempt} --resume ${newest ? "--latest-revision" : "--keep-revision"}`,
  kill: (attempt: string) => `zerodag kill ${attempt}`,
  log: (attempt: string, task: string) => `zerodag log ${attempt} ${quote(task)}`,
  init: () => "zerodag init hello",
  push: (project: string) => `zerodag push ${quote(project)}`,
  start: (project: string, workflow: string) => `zerodag start ${quote(project)} ${quote(workflow)} --session now`,
};
