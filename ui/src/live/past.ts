import { type Change, emptyOutline, fold, type Outline } from "./outline";

/** How many entries lie between two outlines that are kept, at least; and how many are kept at most, for each has all tasks. */
const apart = 500;
const most = 20;

/**
 * An attempt as it was at any entry of its history, which may go on. Outlines are kept at steps, so that a moment is reached
 * by carrying out some hundreds of entries, while somebody drags a slider.
 */
export class Past {
  readonly history: Change[] = [];
  private kept: Outline[] = [];
  private step = apart;
  private readonly end = emptyOutline();

  constructor(history: readonly Change[] = []) {
    this.add(history);
  }

  /** Adds what came after the entries that are there; those are passed over. */
  add(history: readonly Change[]) {
    for (let i = this.history.length; i < history.length; i++) {
      if (this.history.length % this.step === 0) this.keep();
      fold(this.end, history[i]!);
      this.history.push(history[i]!);
    }
  }

  /** Keeps the tasks as they are at the end; where too many are kept, every other one is dropped. */
  private keep() {
    if (this.kept.length === most) {
      this.kept = this.kept.filter((_, i) => i % 2 === 0);
      this.step *= 2;
    }
    this.kept.push(copy(this.end));
  }

  /** The tasks after the entry of this index, with why those failed that had by then; -1 is before the first. */
  at(index: number, errors: ReadonlyMap<number, string> = new Map()): Outline {
    const frame = Math.min(Math.floor(Math.max(index, 0) / this.step), this.kept.length - 1);
    const outline = frame < 0 ? emptyOutline() : copy(this.kept[frame]!);
    for (let i = frame * this.step; i >= 0 && i <= index && i < this.history.length; i++) fold(outline, this.history[i]!);
    for (const [task, message] of errors) if (outline.tasks.get(task)?.state === "error") outline.errors.set(task, message);
    return outline;
  }

  /** The index of the last entry up to a number of the history; -1 where all are later. */
  indexOf(seq: number): number {
    return this.before((change) => change.seq <= seq);
  }

  /** The index of the last entry up to a moment, in milliseconds since 1970. */
  indexAt(at: number): number {
    return this.before((change) => change.at <= at);
  }

  /** The index of the last entry of those, at the beginning, for which a condition holds. */
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
