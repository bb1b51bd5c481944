/** How high a line is that is not wrapped, in pixels. */
export const rowHeight = 20;

/** Browsers draw no element higher than about this, in pixels: of more lines, a step of the scroll bar is a larger one. */
const highest = 15_000_000;

/** Lines beyond those that can be seen, above and below, that are drawn all the same. */
const beyond = 30;

/** What of a box can be seen: how far it is scrolled, and how high it is, in pixels. */
export type View = { top: number; height: number };

/** The measures of so many lines, all of one height, in a box of a height. */
function measures(count: number, height: number) {
  const real = count * rowHeight;
  const total = Math.min(real, highest);
  return { total, squeezed: total < real, far: Math.max(0, real - height), room: Math.max(1, total - height) };
}

/** Which lines are drawn and where: `first` and those before `end`. `offset` is how far down the lines are that a view begins with. */
export function evenRows(count: number, view: View) {
  const { total, squeezed, far, room } = measures(count, view.height);
  const offset = squeezed ? Math.min(1, view.top / room) * far : Math.min(view.top, far);
  const first = Math.max(0, Math.floor(offset / rowHeight) - beyond);
  const end = Math.min(count, Math.ceil((offset + view.height) / rowHeight) + beyond);
  return { total, squeezed, offset, first, end, topOf: (line: number) => line * rowHeight - offset + view.top };
}

/** How far a box has to be scrolled for its view to begin so far down. */
export function scrollFor(count: number, height: number, offset: number): number {
  const { squeezed, far, room } = measures(count, height);
  const to = Math.min(far, Math.max(0, offset));
  return squeezed ? (to / far) * room : to;
}

/** How far down a view begins that has a line in its middle, or at its end. */
export const offsetOf = (line: number, height: number, align: "center" | "end") =>
  align === "end" ? (line + 1) * rowHeight - height : line * rowHeight - (height - rowHeight) / 2;
