import { answered, type Attempt, type Brief, client } from "../api/client";

/** A range of session times: from one time up to, but excluding, another, in milliseconds since 1970. */
export type Window = { from: number; to: number };

/** Returns a page of the sessions in a range, newest id first, and the start of the next page; null after the last. */
export type ReadPage = (window: Window, before: string | null) => Promise<{ sessions: Brief[]; next: string | null }>;

const hour = 3_600_000;

/** The distances that are searched in turn; schedules that run every few minutes are found in the first. */
const reaches = [2, 48, 40 * 24, 800 * 24].map((hours) => hours * hour);

/** The maximum number of pages for one search. */
const mostPages = 8;

/**
 * The next or previous session of the same workflow by session time; null if none was found
 * within about two years, or within a limited number of pages.
 */
export async function neighbourOf(time: number, step: 1 | -1, read: ReadPage): Promise<Brief | null> {
  let pages = 0;
  let done = 0;
  for (const reach of reaches) {
    // Excludes the session itself: session times are whole seconds.
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
