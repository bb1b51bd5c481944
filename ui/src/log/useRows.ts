import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { evenRows, offsetOf, rowHeight, scrollFor, type View } from "./rows";

/** The drawn rows of a log. `measure` is defined if the height of each row is measured. */
export type Rows = {
  total: number;
  items: { index: number; top: number }[];
  scrollTo: (line: number, align: "center" | "end") => void;
  measure: ((row: Element | null) => void) | undefined;
};

/** The rows of a box. Wrapped lines are measured; all others have the same height, so a million of them costs nothing. */
export function useRows(box: HTMLElement | null, count: number, wrap: boolean): Rows {
  const even = useEven(box, count, !wrap);
  const wrapped = useVirtualizer({ count: wrap ? count : 0, getScrollElement: () => box, estimateSize: () => rowHeight, overscan: 30, enabled: wrap });
  const scrollWrapped = useCallback((line: number, align: "center" | "end") => wrapped.scrollToIndex(line, { align }), [wrapped]);
  if (!wrap) return even;
  return { total: wrapped.getTotalSize(), items: wrapped.getVirtualItems().map(({ index, start }) => ({ index, top: start })), scrollTo: scrollWrapped, measure: wrapped.measureElement };
}

function useEven(box: HTMLElement | null, count: number, on: boolean): Rows {
  const [view, setView] = useState<View>({ top: 0, height: 0 });
  const look = useCallback(() => {
    if (box) setView((before) => (before.top === box.scrollTop && before.height === box.clientHeight ? before : { top: box.scrollTop, height: box.clientHeight }));
  }, [box]);
  useEffect(() => {
    if (!box || !on) return;
    look();
    box.addEventListener("scroll", look, { passive: true });
    const sized = new ResizeObserver(look);
    sized.observe(box);
    return () => {
      box.removeEventListener("scroll", look);
      sized.disconnect();
    };
  }, [box, on, look]);
  const rows = evenRows(count, view);

  // If the scroll range is compressed, more lines would move the visible ones.
  const offset = useRef(0);
  const known = useRef(count);
  useLayoutEffect(() => {
    if (box && on && rows.squeezed && known.current !== count && offset.current > 0) {
      box.scrollTop = scrollFor(count, box.clientHeight, offset.current);
      look();
    } else offset.current = rows.offset;
    known.current = count;
  });

  const scrollTo = useCallback(
    (line: number, align: "center" | "end") => {
      if (!box) return;
      box.scrollTop = scrollFor(known.current, box.clientHeight, offsetOf(line, box.clientHeight, align));
      look();
    },
    [box, look],
  );
  return useMemo(
    () => ({
      total: rows.total,
      items: Array.from({ length: rows.end - rows.first }, (_, i) => ({ index: rows.first + i, top: rows.topOf(rows.first + i) })),
      scrollTo,
      measure: undefined,
    }),
    [rows.total, rows.first, rows.end, rows.offset, view.top, scrollTo],
  );
}
