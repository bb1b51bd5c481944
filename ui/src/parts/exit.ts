const words: Record<string, string> = {
  124: "it exceeded the limit of timeout(1)",
  126: "the file is not executable",
  127: "the shell did not find the command",
  130: "interrupted",
  134: "it aborted, as after a failed assertion",
  137: "killed from outside, perhaps because memory ran out",
  139: "it crashed with an invalid memory access",
  141: "the reader of its pipe had ended",
  143: "terminated from outside",
};

/** Explains the exit code in the error of a failed command; null for codes that programs define themselves. */
export function exitWords(message: string): string | null {
  const code = /\bfailed with code ([0-9]{1,3})\b/.exec(message)?.[1];
  return (code !== undefined && words[code]) || null;
}
