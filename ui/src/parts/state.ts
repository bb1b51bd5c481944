/** The states that are displayed differently; tasks and attempts have more states than that. */
export type Look = "done" | "running" | "failed" | "retry" | "canceled" | "waiting" | "blocked" | "skipped" | "ignored";

const looks: Record<string, Look> = {
  success: "done",
  running: "running",
  planned: "running",
  error: "failed",
  group_error: "failed",
  retry_waiting: "retry",
  group_retry_waiting: "retry",
  canceled: "canceled",
  killed: "canceled",
  ready: "waiting",
  blocked: "blocked",
  waits: "waiting",
  skipped: "skipped",
  ignored: "ignored",
  paused: "waiting",
};

/** The look of a state of a task or an attempt; unknown states of later servers are shown as waiting. */
export const lookOf = (state: string): Look => looks[state] ?? "waiting";

/** The state of an attempt in a list: its status, and details beyond it. */
export const standingOf = (attempt: { status: string; standing?: string }): string => attempt.standing ?? attempt.status;

const words: Record<Look, string> = {
  done: "done",
  running: "running",
  failed: "failed",
  retry: "waiting to retry",
  canceled: "canceled",
  waiting: "waiting",
  blocked: "blocked",
  skipped: "skipped",
  ignored: "succeeded, with an ignored error",
};

export const wordOf = (state: string): string => (state === "killed" || state === "paused" ? state : words[lookOf(state)]);

/** A shorter word, for use next to a mark. */
export const shortOf = (state: string): string => (lookOf(state) === "ignored" ? words.done : wordOf(state));
