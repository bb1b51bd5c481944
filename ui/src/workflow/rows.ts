import type { Grid } from "./queries";

/** A cell of the grid; null if an attempt has no such task. */
export type Cell = { state: string; took: number; tries: number } | null;

/** A displayed row of the grid: `full` is the full name of the task. */
export type Row = { full: string; name: string; depth: number; inner: boolean; open: boolean; loading: boolean; cells: Cell[] };

/**
 * The rows of a grid with some of them open. Levels are read separately, possibly at different times: their columns
 * are matched by attempt.
 */
export function rowsOf(root: string, levels: ReadonlyMap<string, Grid | null>, open: ReadonlySet<string>): Row[] {
  const top = levels.get(root);
  if (!top) return [];
  const rows: Row[] = [];
  const add = (parent: string, depth: number) => {
    const level = levels.get(parent);
    if (!level) return;
    const column = new Map(level.columns.map((c, i) => [c.id, i]));
    for (const row of level.rows) {
      const full = parent + row.name;
      const cells = top.columns.map(({ id }): Cell => {
        const i = column.get(id);
        const state = i === undefined ? null : row.state[i];
        return state ? { state, took: row.took[i!] ?? 0, tries: row.tries[i!] ?? 0 } : null;
      });
      const isOpen = row.inner && open.has(full);
      rows.push({ full, name: row.name, depth, inner: row.inner, open: isOpen, loading: isOpen && !levels.get(full), cells: cells.reverse() });
      if (isOpen) add(full, depth + 1);
    }
  };
  add(root, 0);
  return rows;
}

/** A quantile of a list; 0 if it is empty. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
