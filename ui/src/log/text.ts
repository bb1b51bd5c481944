/** A run of whole lines of a log, and where each begins in it. */
type Piece = { text: string; starts: Uint32Array; first: number };

/** Where something was found: its line, and the character in that. */
export type Hit = { line: number; at: number };

/** No search tells more hits than this, though it counts them all. */
export const mostHits = 10_000;

/** Of a longer line only the beginning is drawn until somebody asks for the rest. */
export const longLine = 10_000;

const errorLine = /\b([a-z]*error|fatal|[a-z]*exception|traceback|panic|denied|failed|failure|cannot|no such)\b/i;

/** A line of the server's own between those of the task, in either form: what it runs, and that it failed. */
const serverLine = /^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+ [+-][0-9]{4} \[[A-Z]+\] (?:\(|\+.*: )/;

/** How far before the end of a log its cause is looked for, in lines. */
const nearEnd = 5_000;

/**
 * The text of a log that comes in pieces. Lines are found once, as each piece comes, and made to strings only when
 * somebody looks at them: a hundred megabytes are searched where they lie.
 */
export class LogText {
  private pieces: Piece[] = [];
  private rest = "";
  /** Lines that are whole, and the last one, if it has no end yet. */
  count = 0;
  characters = 0;

  /** Adds text to the end. */
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

  /** The lines from one on; fewer at the end. */
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

  /** Finds text, whatever its case: all hits are counted, the first are told. */
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
   * The line that says why a task failed, as far as a line looks like it: the last one that the task itself wrote from
   * `from` on, or the last of the server. -1 where nothing was written.
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

  /** The first line that looks like an error, at or after one; -1 for none. */
  errorFrom(from: number): number {
    for (let n = from; n < this.count; n++) if (errorLine.test(this.line(n))) return n;
    return -1;
  }
}
