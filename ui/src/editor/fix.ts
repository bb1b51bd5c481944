import type { Finding } from "./useCheck";

/** What is to be written instead of characters of a line, counted from 0. */
export type Fix = { from: number; to: number; insert: string };

/** A hint that names one word, and what it begins with. */
const meant = /^did you mean ([\w.+-]+)>?\?/;

/** Whether a hint names the one word that was meant. */
export const oneWord = (finding: Pick<Finding, "hint">) => meant.test(finding.hint ?? "");

/** How a finding is mended by writing another word at its place in a line; null where its hint names none. */
export function fixOf(finding: Pick<Finding, "hint" | "message" | "column">, line: string): Fix | null {
  const insert = meant.exec(finding.hint ?? "")?.[1];
  if (insert === undefined || finding.column < 1) return null;
  const word = /^[\w.+-]+/.exec(line.slice(finding.column - 1))?.[0];
  // The text may have changed since: only the word that the finding is about is written anew.
  if (word === undefined || word === insert || !finding.message.includes(word)) return null;
  return { from: finding.column - 1, to: finding.column - 1 + word.length, insert };
}
