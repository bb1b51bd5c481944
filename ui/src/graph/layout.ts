/** A box of the graph before the layout: a task, and the boxes below it if it is an open group. */
export type Box = {
  id: number;
  /** The width of its text. An open group is as wide as its content, and at least this wide. */
  width: number;
  /** The earlier siblings that it depends on. Tasks with the same dependencies share one array. */
  upstreams: readonly number[];
  /** It runs after all siblings, such as the tasks of `_error` and `_check`. */
  last?: boolean;
  /** null for a box without visible subtasks. */
  children: Box[] | null;
};

/** A positioned box, in pixels from the top left corner of its parent. */
export type Placed = { id: number; parent: number; x: number; y: number; width: number; height: number; open: boolean };

/**
 * A bar connects tasks with the tasks that depend on all of them, as at a barrier of `_parallel: {limit}`: n lines enter
 * it and m leave it, instead of n × m lines.
 */
export type Bar = { id: string; parent: number; x: number; y: number; height: number };

/** A line from a box or bar to a dependent one. */
export type Line = { from: string; to: string };

/** Boxes come before their content. */
export type Layout = { boxes: Placed[]; bars: Bar[]; lines: Line[] };

export const sizes = {
  box: 34,
  /** The space above and around the children of an open group. */
  header: 36,
  padding: 12,
  /** The space between dependent and between independent boxes. */
  across: 44,
  down: 10,
  bar: 4,
  /** The maximum number of boxes in a column; further boxes continue in the next one. */
  column: 12,
};

export const nodeOf = (task: number) => String(task);

type Sized = Placed & { inner: Group | null };
type Group = { boxes: Sized[]; bars: Bar[]; lines: Line[]; width: number; height: number };

/**
 * Places boxes from left to right in the order of their dependencies. Tasks depend only on siblings, so each
 * group is laid out separately.
 */
export function layOut(roots: Box[]): Layout {
  const layout: Layout = { boxes: [], bars: [], lines: [] };
  const add = (group: Group) => {
    for (const { inner, ...box } of group.boxes) {
      layout.boxes.push(box);
      if (inner) add(inner);
    }
    layout.bars.push(...group.bars);
    layout.lines.push(...group.lines);
  };
  add(arrange(roots, 0, 0, 0));
  return layout;
}

/** Places siblings and their content, starting at the given corner. */
function arrange(siblings: Box[], parent: number, left: number, top: number): Group {
  const boxes = siblings.map((box) => size(box, parent));
  const ranks = ranksOf(siblings);
  const columns: Sized[][] = [];
  boxes.forEach((box, i) => (columns[ranks[i]!] ??= []).push(box));
  const right: number[] = []; // of each rank
  let x = left;
  let bottom = top;
  columns.forEach((column, rank) => {
    for (let first = 0; first < column.length; first += sizes.column) {
      const part = column.slice(first, first + sizes.column);
      let y = top;
      for (const box of part) {
        box.x = x;
        box.y = y;
        y += box.height + sizes.down;
      }
      bottom = Math.max(bottom, y - sizes.down);
      x += Math.max(...part.map((box) => box.width)) + sizes.down;
    }
    right[rank] = x - sizes.down;
    x = right[rank]! + sizes.across;
  });
  const { bars, lines } = connect(siblings, ranks, parent, (rank) => ({ x: right[rank]! + sizes.across / 2 - sizes.bar / 2, y: top, height: bottom - top }));
  return { boxes, bars, lines, width: Math.max(0, x - sizes.across - left), height: bottom - top };
}

function size(box: Box, parent: number): Sized {
  const at = { id: box.id, parent, x: 0, y: 0, open: box.children !== null };
  if (box.children === null) return { ...at, width: box.width, height: sizes.box, inner: null };
  const inner = arrange(box.children, box.id, sizes.padding, sizes.header);
  return { ...at, width: Math.max(box.width, inner.width + 2 * sizes.padding), height: sizes.header + inner.height + sizes.padding, inner };
}

/** The length of the longest chain of siblings before each one. */
function ranksOf(siblings: Box[]): number[] {
  const ranks = new Map<number, number>();
  const after = new Map<readonly number[], number>(); // the rank of boxes with these dependencies
  const order = siblings.map((box) => {
    let rank = after.get(box.upstreams);
    if (rank === undefined) {
      rank = 0;
      for (const id of box.upstreams) rank = Math.max(rank, (ranks.get(id) ?? -1) + 1);
      after.set(box.upstreams, rank);
    }
    ranks.set(box.id, rank);
    return rank;
  });
  const end = Math.max(-1, ...order.filter((_, i) => !siblings[i]!.last)) + 1;
  return order.map((rank, i) => (siblings[i]!.last ? end : rank));
}

/** The lines between siblings, with bars if several depend on the same several. */
function connect(siblings: Box[], ranks: number[], parent: number, place: (rank: number) => { x: number; y: number; height: number }) {
  const there = new Set(siblings.map((box) => box.id));
  const waiting = new Map<readonly number[], { box: Box; rank: number }[]>();
  siblings.forEach((box, i) => {
    if (box.upstreams.length === 0) return;
    const those = waiting.get(box.upstreams);
    if (those) those.push({ box, rank: ranks[i]! });
    else waiting.set(box.upstreams, [{ box, rank: ranks[i]! }]);
  });
  const bars: Bar[] = [];
  const lines: Line[] = [];
  for (const [upstreams, those] of waiting) {
    const from = upstreams.filter((id) => there.has(id));
    if (from.length > 1 && those.length > 1) {
      const id = `bar-${parent}-${bars.length}`;
      bars.push({ id, parent, ...place(those[0]!.rank - 1) });
      for (const task of from) lines.push({ from: nodeOf(task), to: id });
      for (const { box } of those) lines.push({ from: id, to: nodeOf(box.id) });
    } else {
      for (const { box } of those) for (const task of from) lines.push({ from: nodeOf(task), to: nodeOf(box.id) });
    }
  }
  return { bars, lines };
}
