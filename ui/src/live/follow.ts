import { answered, client, pageHeader, pathId, refusalOf, type Schemas, unreachable } from "../api/client";
import { type Change, emptyOutline, fold, lay, type Outline } from "./outline";

/** How long a poll waits, in milliseconds: while something happens, and after a quiet minute. */
const soon = 2_000;
const later = 10_000;
const quiet = 60_000;
/** How long it waits before it asks again after it has lost the server; twice as long each time after that. */
const first = 1_000;

/**
 * What a follower tells: the tasks as they are now, and where it stands. `told` is what it was told since it began to follow,
 * to which it only adds; where it has lost the server it begins another list, in another `round`.
 */
export type Followed = { outline: Outline; told: readonly Change[]; round: number; status: "loading" | "live" | "over" | "lost"; error: unknown };

/** What is known before anything was told. */
export const nothingYet = (): Followed => ({ outline: emptyOutline(), told: [], round: 0, status: "loading", error: null });

let rounds = 0;

/** Reads all pages of an outline; null instead of a number says that nothing changes any more. */
async function loadOutline(attempt: string, signal: AbortSignal): Promise<{ outline: Outline; seq: number | null }> {
  const outline = emptyOutline();
  for (let after = 0; ; ) {
    const page: Schemas["Outline"] = await answered(
      client.GET("/api/x/attempts/{id}/outline", { params: { path: { id: pathId(attempt) }, query: { after } }, signal }),
    );
    lay(outline, page.tasks);
    for (const e of page.errors) outline.errors.set(e.task, e.message);
    if (page.next === null) return { outline, seq: page.seq };
    after = page.next;
  }
}

/** Reads the history of an attempt after an entry, page by page; 0 is all of it. */
export async function historyAfter(attempt: string, first: number, signal: AbortSignal): Promise<Change[]> {
  const all: Change[] = [];
  for (let after = first; ; ) {
    const page = await changesAfter(attempt, after, signal);
    all.push(...page.changes);
    if (!page.more) return all;
    after = page.next;
  }
}

const changesAfter = (attempt: string, after: number, signal: AbortSignal) =>
  answered(client.GET("/api/x/attempts/{id}/changes", { params: { path: { id: pathId(attempt) }, query: { after } }, signal })) as Promise<Schemas["Changes"]>;

/**
 * Follows an attempt until it is over: its outline first, then the changes after it, as a stream on one machine and
 * by polls on AWS, where an open stream costs. Both have the same rows. It tells at most once a frame.
 */
export class Follower {
  private readonly stop = new AbortController();
  private told: Change[] = [];
  private state: Followed = nothingYet();
  private listeners = new Set<() => void>();
  private frame = 0;

  constructor(
    private readonly attempt: string,
    private readonly live: "stream" | "poll",
  ) {
    void this.run();
  }

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = () => this.state;

  close() {
    this.stop.abort();
    cancelAnimationFrame(this.frame);
  }

  private tell(change: Partial<Followed>) {
    this.state = { ...this.state, ...change };
    if (this.frame) return;
    const now = () => {
      this.frame = 0;
      for (const l of this.listeners) l();
    };
    // A hidden page draws no frames, and is told all the same.
    this.frame = document.hidden ? (setTimeout(now) as unknown as number) : requestAnimationFrame(now);
  }

  private async run() {
    let lost = 0;
    while (!this.stop.signal.aborted) {
      try {
        const { outline, seq } = await loadOutline(this.attempt, this.stop.signal);
        lost = 0;
        this.told = [];
        this.tell({ outline, told: this.told, round: ++rounds, status: seq === null ? "over" : "live", error: null });
        if (seq === null) return;
        await (this.live === "stream" ? this.stream(seq) : this.poll(seq));
        // The last outline has what changes do not say: why tasks failed.
        const last = await loadOutline(this.attempt, this.stop.signal);
        this.tell({ outline: last.outline, status: "over" });
        return;
      } catch (error) {
        if (this.stop.signal.aborted) return;
        this.tell({ status: "lost", error: unreachable(error) });
        // A server that is started again answers within seconds.
        if (!(await this.pause(Math.min(later, first * 2 ** lost++)))) return;
      }
    }
  }

  private take(changes: Change[]) {
    for (const change of changes) fold(this.state.outline, change);
    this.told.push(...changes);
    if (changes.length > 0) this.tell({ outline: { ...this.state.outline } });
  }

  private async poll(after: number) {
    let heard = Date.now();
    for (;;) {
      const page = await changesAfter(this.attempt, after, this.stop.signal);
      this.take(page.changes);
      after = page.next;
      if (page.done) return;
      if (page.changes.length > 0) heard = Date.now();
      if (!page.more && !(await this.pause(Date.now() - heard > quiet ? later : soon))) return;
    }
  }

  private async stream(after: number) {
    for (;;) {
      const response = await fetch(`/api/x/attempts/${encodeURIComponent(this.attempt)}/changes?after=${after}`, {
        headers: { ...pageHeader, Accept: "text/event-stream" },
        signal: this.stop.signal,
      }).catch((error: unknown) => {
        throw unreachable(error);
      });
      if (response.status === 204) return;
      if (!response.ok || !response.body) throw await refusalOf(response);
      for await (const event of eventsOf(response.body)) {
        if (event.name === "end") return;
        const change = JSON.parse(event.data) as Change;
        after = change.seq;
        this.take([change]);
      }
      if (!(await this.pause(soon))) return;
    }
  }

  /** Waits, and longer while nobody looks; false once the follower is closed. */
  private async pause(ms: number): Promise<boolean> {
    const { signal } = this.stop;
    await new Promise<void>((done) => {
      const timer = setTimeout(done, ms);
      signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
    });
    while (document.hidden && !signal.aborted) {
      await new Promise<void>((done) => {
        document.addEventListener("visibilitychange", () => done(), { once: true, signal });
        signal.addEventListener("abort", () => done(), { once: true });
      });
    }
    return !signal.aborted;
  }
}

type ServerEvent = { name: string; data: string };

/** The events of a stream: lines of `event:` and `data:`, ended by an empty one. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  let event: ServerEvent = { name: "", data: "" };
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        if (line.startsWith("event: ")) event.name = line.slice(7);
        if (line.startsWith("data: ")) event.data += line.slice(6);
        if (line !== "" || event.name === "") continue;
        yield event;
        event = { name: "", data: "" };
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
