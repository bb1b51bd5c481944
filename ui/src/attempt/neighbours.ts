import { answered, type Attempt, type Brief, client } from "../api/client";

/** Where sessions are looked for: session times from one on and before another, in milliseconds since 1970. */
export type Window = { from: number; to: number };

/** Answers a page of the sessions in a window, newest id first, and where the next one begins; null after the last. */
export type ReadPage = (window: Window, before: string | null) => Promise<{ sessions: Brief[]; next: string | null }>;

const hour = 3_600_000;

/** How far from a session its neighbour is looked for, one after the other: that of a schedule of minutes is found in the first. */
const reaches = [2, 48, 40 * 24, 800 * 24].map((hours) => hours * hour);

/** The most pages that are read for one look. */
const mostPages = 8;

/**
 * The session of the same workflow whose time comes next after that of an attempt, or before it; null where none was found
 * in about two years, or within a bounded number of pages.
 */
export async function neighbourOf(time: number, step: 1 | -1, read: ReadPage): Promise<Brief | null> {
  let pages = 0;
  let done = 0;
  for (const reach of reaches) {
    // The session itself is left out: session times are whole seconds.
    const window = step > 0 ? { from: time + Math.max(1000, done), to: time + reach } : { from: time - reach, to: time - done };
    let nearest: Brief | null = null;
    let before: string | null = null;
    do {
      if (++pages > mostPages) return nearest;
      const page = await read(window, before);
      for (const s of page.sessions) if (nearest === null || step * (Date.parse(s.sessionTime) - Date.parse(nearest.sessionTime)) < 0) nearest = s;
      before = page.next;
    } while (before !== null);
    if (nearest) return nearest;
    done = reach;
  }
  return null;
}

/** Reads the sessions of the workflow of an attempt. */
export const sessionsBeside =
  (attempt: Attempt): ReadPage =>
  (window, before) =>
    answered(
      client.GET("/api/x/sessions", {
        params: {
          query: {
            project: attempt.project.name,
            workflow: attempt.workflow.name,
            from: new Date(window.from).toISOString(),
            to: new Date(window.to).toISOString(),
            count: 200,
            ...(before === null ? {} : { before: Number(before) }),
          },
        },
      }),
    );
