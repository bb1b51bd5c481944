import type { Hit } from "./text";

/** How many lines are requested at once, and sent unrequested when a log opens. */
export const block = 200;

/** A log file of a task, as the worker reads it. */
export type LogFile = { name: string; heading: string };

export type ToWorker =
  | { do: "open"; attempt: string; files: LogFile[]; done: boolean; header: Record<string, string> }
  /** Whether the log may grow, and whether the page is visible. */
  | { do: "follow"; growing: boolean; seen: boolean }
  | { do: "lines"; block: number; from: number; many: number }
  | { do: "search"; text: string }
  | { do: "error"; from: number }
  | { do: "cause"; from: number };

export type FromWorker =
  | { is: "state"; count: number; characters: number; whole: boolean; cut: boolean; last: number }
  | { is: "lines"; block: number; lines: string[] }
  | { is: "hits"; text: string; hits: Hit[]; total: number }
  | { is: "error"; line: number }
  | { is: "failed"; message: string; status: number };
