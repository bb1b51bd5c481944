import { type Change, emptyOutline, fold, type Outline } from "./outline";

/** The minimum number of entries between two stored outlines, and the maximum number of stored outlines, each of which contains all tasks. */
const apart = 500;
const most = 20;

/**
 * An attempt as of any entry of its history, which may grow. Outlines are stored at intervals, so that any entry is reached
 * by applying a few hundred others while the user drags a slider.
 */
export class Past {
  readonly history: Change[] = [];
  private kept: Outline[] = [];
  private step = apart;
  private readonly end = emptyOutline();

  constructor(history: readonly Change[] = []) {
    this.add(history);
  }

  /** Adds new entries; known entries are ignored. */
  add(history: readonly Change[]) {
    for (let i = this.history.length; i < history.length; i++) {
      if (this.history.length % this.step === 0) this.keep();
      fold(this.end, history[i]!);
      this.history.push(history[i]!);
    }
  }

  /** Stores the tasks at the end; if too many outlines are stored, every other one is dropped. */
  private keep() {
    if (this.kept.length === most) {
      this.kept = this.kept.filter((_, i) => i % 2 === 0);
      this.step *= 2;
    }
    this.kept.push(copy(this.end));
  }

  /** The tasks after the entry of this index, with the errors of tasks that had failed by then; -1 is before the first. */
  at(index: number, errors: ReadonlyMap<number, string> = new Map()): Outline {
    const frame = Math.min(Math.floor(Math.max(index, 0) / this.step), this.kept.length - 1);
    const outline = frame < 0 ? emptyOutline() : copy(this.kept[frame]!);
    for (let i = frame * this.step; i >= 0 && i <= index && i < this.history.length; i++) fold(outline, this.history[i]!);
    for (const [task, message] of errors) if (outline.tasks.get(task)?.state === "error") outline.errors.set(task, message);
    return outline;
  }

  /** The index of the last entry up to a sequence number; -1 if all are later. */
  indexOf(seq: number): number {
    return this.before((change) => change.seq <= seq);
  }

  /** The index of the last entry up to a time, in milliseconds since 1970. */
  indexAt(at: number): number {
    return this.before((change) => change.at <= at);
  }

  /** The index of the last entry of the prefix for which a condition holds. */
  private before(holds: (change: Change) => boolean): number {
    let [low, high] = [0, this.history.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(this.history[middle]!)) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

function copy(outline: Outline): Outline {
  const tasks: Outline["tasks"] = new Map();
  for (const [id, task] of outline.tasks) tasks.set(id, { ...task, children: [...task.children] });
  return { version: outline.version, tasks, errors: new Map() };
}
