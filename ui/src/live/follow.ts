import { answered, client, pageHeader, pathId, refusalOf, type Schemas, unreachable } from "../api/client";
import { type Change, emptyOutline, fold, lay, type Outline } from "./outline";

/** The interval of polls in milliseconds: during activity, and after a quiet minute. */
const soon = 2_000;
const later = 10_000;
const quiet = 60_000;
/** The delay before the first reconnect; it doubles each time. */
const first = 1_000;

/**
 * The state of a follower: the current tasks and the connection. `told` lists the changes received since it started,
 * and only grows; after a lost connection a new list starts, with a new `round`.
 */
export type Followed = { outline: Outline; told: readonly Change[]; round: number; status: "loading" | "live" | "over" | "lost"; error: unknown };

/** The state before the first response. */
export const nothingYet = (): Followed => ({ outline: emptyOutline(), told: [], round: 0, status: "loading", error: null });

let rounds = 0;

/** Reads all pages of an outline; null instead of a number means that nothing changes any more. */
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

/** Reads the history of an attempt after an entry, page by page; 0 reads all of it. */
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
 * Follows an attempt until its end: first its outline, then the changes, as a stream on a server and
 * by polling on AWS, where an open stream costs money. Both have the same rows. It reports at most once a frame.
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
    // Hidden pages draw no frames, but are updated anyway.
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
        // The last outline contains details that changes lack: why tasks failed.
        const last = await loadOutline(this.attempt, this.stop.signal);
        this.tell({ outline: last.outline, status: "over" });
        return;
      } catch (error) {
        if (this.stop.signal.aborted) return;
        this.tell({ status: "lost", error: unreachable(error) });
        // A restarting server responds within seconds.
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

  /** Waits, longer if the page is hidden; false once the follower is closed. */
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

/** The events of a stream: lines of `event:` and `data:`, ended by an empty line. */
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
