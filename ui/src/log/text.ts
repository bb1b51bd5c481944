/** A block of whole lines of a log, and where each of them begins. */
type Piece = { text: string; starts: Uint32Array; first: number };

/** A match: its line, and the character in the line. */
export type Hit = { line: number; at: number };

/** The maximum number of matches that a search returns, although it counts all of them. */
export const mostHits = 10_000;

/** Longer lines are drawn only up to this length until the user expands them. */
export const longLine = 10_000;

const errorLine = /\b([a-z]*error|fatal|[a-z]*exception|traceback|panic|denied|failed|failure|cannot|no such)\b/i;

/** A line of the server between those of the task, in either format: the command and the failure. */
const serverLine = /^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+ [+-][0-9]{4} \[[A-Z]+\] (?:\(|\+.*: )/;

/** How many lines from the end of a log are searched for the cause. */
const nearEnd = 5_000;

/**
 * The text of a log that arrives in pieces. Lines are found once, as each piece arrives, and converted to strings only when
 * they are displayed: a hundred megabytes are searched in place.
 */
export class LogText {
  private pieces: Piece[] = [];
  private rest = "";
  /** The number of complete lines, plus the last one if it is incomplete. */
  count = 0;
  characters = 0;

  /** Appends text. */
  add(text: string) {
    this.characters += text.length;
    const all = this.rest + text;
    const end = all.lastIndexOf("\n") + 1;
    if (this.rest !== "") this.count--;
    this.rest = all.slice(end);
    if (end > 0) this.push(all.slice(0, end));
    if (this.rest !== "") this.count++;
  }

  private push(text: string) {
    const starts: number[] = [];
    for (let i = 0; i < text.length; i = text.indexOf("\n", i) + 1) starts.push(i);
    this.pieces.push({ text, starts: Uint32Array.from(starts), first: this.count });
    this.count += starts.length;
  }

  /** The lines from a position; fewer at the end. */
  lines(from: number, many: number): string[] {
    const list: string[] = [];
    for (let n = Math.max(0, from); n < Math.min(from + many, this.count); n++) list.push(this.line(n));
    return list;
  }

  line(n: number): string {
    const piece = this.pieceOf(n);
    if (!piece) return this.rest;
    const i = n - piece.first;
    const end = i + 1 < piece.starts.length ? piece.starts[i + 1]! : piece.text.length;
    return piece.text.slice(piece.starts[i]!, end).replace(/\r?\n$/, "");
  }

  private pieceOf(n: number): Piece | null {
    let low = 0;
    let high = this.pieces.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const piece = this.pieces[middle]!;
      if (n < piece.first) high = middle - 1;
      else if (n >= piece.first + piece.starts.length) low = middle + 1;
      else return piece;
    }
    return null;
  }

  /** Finds text, ignoring case: all matches are counted, the first ones returned. */
  search(wanted: string): { hits: Hit[]; total: number } {
    const hits: Hit[] = [];
    let total = 0;
    const needle = wanted.toLowerCase();
    if (needle === "") return { hits, total };
    const look = (text: string, starts: Uint32Array, first: number) => {
      const low = text.toLowerCase();
      let line = 0;
      for (let i = low.indexOf(needle); i >= 0; i = low.indexOf(needle, i + needle.length)) {
        total++;
        if (hits.length >= mostHits) continue;
        while (line + 1 < starts.length && starts[line + 1]! <= i) line++;
        hits.push({ line: first + line, at: i - starts[line]! });
      }
    };
    for (const p of this.pieces) look(p.text, p.starts, p.first);
    if (this.rest !== "") look(this.rest, Uint32Array.of(0), this.count - 1);
    return { hits, total };
  }

  /**
   * The line that most likely shows why a task failed: the last one that the task itself wrote from
   * `from` on, or the last one of the server. -1 if there is none.
   */
  cause(from: number): number {
    const first = Math.max(from, this.count - nearEnd);
    let servers = -1;
    for (let n = this.count - 1; n >= first; n--) {
      const line = this.line(n);
      if (serverLine.test(line)) servers = Math.max(servers, n);
      else if (errorLine.test(line)) return n;
    }
    return servers < 0 ? this.count - 1 : servers;
  }

  /** The first line that looks like an error, from a position on; -1 for none. */
  errorFrom(from: number): number {
    for (let n = from; n < this.count; n++) if (errorLine.test(this.line(n))) return n;
    return -1;
  }
}
