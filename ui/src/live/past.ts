import { type Change, emptyOutline, fold, type Outline } from "./outline";

/** How many entries lie between two outlines that are kept; more where there are many tasks, for each copy has all of them. */
const apart = 500;

/**
 * An attempt as it was at any entry of its history. Outlines are kept at steps, so that a moment is reached by carrying
 * out some hundreds of entries, while somebody drags a slider.
 */
export class Past {
  private readonly kept: Outline[] = [];
  private readonly step: number;

  constructor(
    readonly history: readonly Change[],
    private readonly errors: ReadonlyMap<number, string> = new Map(),
  ) {
    this.step = Math.max(apart, Math.ceil(history.length / 20));
    const outline = emptyOutline();
    history.forEach((change, i) => {
      if (i % this.step === 0) this.kept.push(copy(outline));
      fold(outline, change);
    });
  }

  /** The tasks after the entry of this index; -1 is before the first. */
  at(index: number): Outline {
    const frame = Math.min(Math.floor(Math.max(index, 0) / this.step), this.kept.length - 1);
    const outline = frame < 0 ? emptyOutline() : copy(this.kept[frame]!);
    for (let i = frame * this.step; i >= 0 && i <= index && i < this.history.length; i++) fold(outline, this.history[i]!);
    for (const [task, message] of this.errors) if (outline.tasks.get(task)?.state === "error") outline.errors.set(task, message);
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
