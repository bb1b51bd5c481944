/** A line of a text that is in both texts, only in the new one, or only in the old one. */
export type Line = { is: " " | "+" | "-"; text: string };

/** With more pairs of lines than this to compare, the differing part counts as replaced as a whole. */
const mostPairs = 4_000_000;

const linesOf = (text: string | null) => (text === null || text === "" ? [] : text.replace(/\n$/, "").split("\n"));

/** Compares two texts line by line. A text that does not exist is null. */
export function diff(before: string | null, after: string | null): Line[] {
  const a = linesOf(before);
  const b = linesOf(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const same = (text: string): Line => ({ is: " ", text });
  return [...a.slice(0, head).map(same), ...between(a.slice(head, a.length - tail), b.slice(head, b.length - tail)), ...a.slice(a.length - tail).map(same)];
}

/** Finds the longest common subsequence of lines, with a table of lengths. */
function between(a: string[], b: string[]): Line[] {
  const width = b.length + 1;
  const table = a.length * b.length > mostPairs ? null : new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; table && i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1]! + 1 : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!);
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const both = table !== null && i < a.length && j < b.length;
    if (both && a[i] === b[j]) {
      lines.push({ is: " ", text: a[i++]! });
      j++;
    } else if (i < a.length && (!both || table[(i + 1) * width + j]! >= table[i * width + j + 1]!)) lines.push({ is: "-", text: a[i++]! });
    else lines.push({ is: "+", text: b[j++]! });
  }
  return lines;
}

/** The changed lines with some context; null stands for omitted lines. */
export function excerpt(lines: Line[], around = 2): (Line | null)[] {
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - around), i + around + 1).some((l) => l.is !== " "));
  return lines.flatMap((line, i) => (near[i] ? [line] : near[i - 1] || i === 0 ? [null] : []));
}

export const count = (lines: Line[], is: "+" | "-") => lines.filter((l) => l.is === is).length;
