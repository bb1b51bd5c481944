/** The edit distance of two texts: replaced, removed, inserted and swapped letters. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i++) {
    const [row, last] = [[i], rows[i - 1]!];
    for (let j = 1; j <= b.length; j++) {
      row.push(Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}

/** Of longer names, only the beginning is compared. */
const longest = 100;

/** The named items that are closest to a name, nearest first: at most `most`. */
export function nearest<T>(wanted: string, list: readonly T[], nameOf: (one: T) => string, most = 5): T[] {
  const name = wanted.toLowerCase().slice(0, longest);
  const far = (one: T) => {
    const other = nameOf(one).toLowerCase().slice(0, longest);
    const within = name !== "" && (other.includes(name) || name.includes(other));
    return within ? 0.5 : distance(name, other);
  };
  return list
    .map((one) => ({ one, away: far(one) }))
    .filter(({ away }) => away <= Math.max(1, name.length / 3))
    .sort((a, b) => a.away - b.away)
    .slice(0, most)
    .map(({ one }) => one);
}
