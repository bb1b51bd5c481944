import type { Finding } from "./useCheck";

/** Replaces characters of a line, counted from 0. */
export type Fix = { from: number; to: number; insert: string };

/** A hint that names one word, and its prefix. */
const meant = /^did you mean ([\w.+-]+)>?\?/;

/** Reports whether a hint names a single replacement. */
export const oneWord = (finding: Pick<Finding, "hint">) => meant.test(finding.hint ?? "");

/** Returns the fix for a finding, which replaces the word at its place in a line; null if its hint names none. */
export function fixOf(finding: Pick<Finding, "hint" | "message" | "column">, line: string): Fix | null {
  const insert = meant.exec(finding.hint ?? "")?.[1];
  if (insert === undefined || finding.column < 1) return null;
  const word = /^[\w.+-]+/.exec(line.slice(finding.column - 1))?.[0];
  // The text may have changed since: replace only the word of the finding.
  if (word === undefined || word === insert || !finding.message.includes(word)) return null;
  return { from: finding.column - 1, to: finding.column - 1 + word.length, insert };
}
