const words: Record<string, string> = {
  124: "it took longer than timeout(1) lets it",
  126: "the file is there but must not be run",
  127: "the shell found no such command",
  130: "interrupted",
  134: "it ended itself, as programs do that find themselves broken",
  137: "killed from outside, perhaps because memory ran out",
  139: "it crashed: it reached for memory that is not its own",
  141: "nobody read what it wrote into a pipe",
  143: "asked to end from outside",
};

/** What the exit code means with which the error of a task says that its command has failed; null for one that programs give a meaning of their own. */
export function exitWords(message: string): string | null {
  const code = /\bfailed with code ([0-9]{1,3})\b/.exec(message)?.[1];
  return (code !== undefined && words[code]) || null;
}
