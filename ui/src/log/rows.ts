/** The height of an unwrapped line in pixels. */
export const rowHeight = 20;

/** Browsers draw no element higher than about this, in pixels: with more lines, the scroll bar moves in larger steps. */
const highest = 15_000_000;

/** The number of lines that are drawn beyond the visible ones, above and below. */
const beyond = 30;

/** The visible part of a box: its scroll position and height, in pixels. */
export type View = { top: number; height: number };

/** The layout of a number of lines of equal height in a box. */
function measures(count: number, height: number) {
  const real = count * rowHeight;
  const total = Math.min(real, highest);
  return { total, squeezed: total < real, far: Math.max(0, real - height), room: Math.max(1, total - height) };
}

/** The drawn lines, from `first` to before `end`. `offset` is the position of the lines at the top of the view. */
export function evenRows(count: number, view: View) {
  const { total, squeezed, far, room } = measures(count, view.height);
  const offset = squeezed ? Math.min(1, view.top / room) * far : Math.min(view.top, far);
  const first = Math.max(0, Math.floor(offset / rowHeight) - beyond);
  const end = Math.min(count, Math.ceil((offset + view.height) / rowHeight) + beyond);
  return { total, squeezed, offset, first, end, topOf: (line: number) => line * rowHeight - offset + view.top };
}

/** The scroll position of a view that begins at a height. */
export function scrollFor(count: number, height: number, offset: number): number {
  const { squeezed, far, room } = measures(count, height);
  const to = Math.min(far, Math.max(0, offset));
  return squeezed ? (to / far) * room : to;
}

/** The height at which a view begins that has a line in its middle, or at its end. */
export const offsetOf = (line: number, height: number, align: "center" | "end") =>
  align === "end" ? (line + 1) * rowHeight - height : line * rowHeight - (height - rowHeight) / 2;
