/** The position of a time on the axis, from 0 to 1. */
export type Scale = { at: (ms: number) => number; ticks: Tick[]; gaps: Gap[]; begin: number; end: number };
export type Tick = { at: number; ms: number };
/** An idle period that is drawn shorter: its position and its length. */
export type Gap = { at: number; ms: number };

type Span = { begin: number; end: number };

/** An idle period is shortened if it exceeds this fraction of the total work and this many milliseconds. */
const gapShare = 0.15;
const gapLeast = 20_000;
/** The fraction of the width that a shortened period keeps. */
const gapWidth = 0.03;

/** Ticks of a shorter axis, in milliseconds, count from its beginning, because clock times would not help. */
export const shortAxis = 10_000;

/** The possible steps of an axis, in milliseconds. */
const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000];

/** Merges overlapping and adjacent spans, in the order of time. */
function busyOf(spans: Span[]): Span[] {
  const sorted = spans.filter((s) => s.begin > 0).sort((a, b) => a.begin - b.begin);
  const busy: Span[] = [];
  for (const s of sorted) {
    const last = busy.at(-1);
    if (last && s.begin <= last.end) last.end = Math.max(last.end, s.end);
    else busy.push({ begin: s.begin, end: Math.max(s.begin, s.end) });
  }
  return busy;
}

/** Returns the axis from `begin` to `end` for the work of tasks, `spans`; with `cut`, long idle periods are shortened. */
export function scaleOf(spans: Span[], begin: number, end: number, cut: boolean, ticks = 5): Scale {
  const total = Math.max(1, end - begin);
  const busy = busyOf(spans);
  const idle: Span[] = [];
  let last = begin;
  for (const b of [...busy, { begin: end, end }]) {
    if (b.begin - last > gapLeast) idle.push({ begin: last, end: b.begin });
    last = Math.max(last, b.end);
  }
  const work = total - idle.reduce((sum, i) => sum + i.end - i.begin, 0);
  const cuts = cut ? idle.filter((i) => i.end - i.begin > gapShare * Math.max(1, work)) : [];
  const kept = total - cuts.reduce((sum, c) => sum + c.end - c.begin, 0);
  const width = 1 - cuts.length * gapWidth;
  const at = (ms: number) => {
    let time = Math.min(end, Math.max(begin, ms)) - begin;
    let x = 0;
    for (const c of cuts) {
      if (ms <= c.begin) break;
      const inside = Math.min(ms, c.end) - c.begin;
      time -= inside;
      x += (gapWidth * inside) / (c.end - c.begin);
    }
    return x + (width * time) / Math.max(1, kept);
  };
  const gaps = cuts.map((c) => ({ at: (at(c.begin) + at(c.end)) / 2, ms: c.end - c.begin }));
  return { at, ticks: ticksOf(begin, end, kept, at, ticks, cuts), gaps, begin, end };
}

function ticksOf(begin: number, end: number, kept: number, at: (ms: number) => number, most: number, cuts: Span[]): Tick[] {
  const step = steps.find((s) => kept / s <= most) ?? steps.at(-1)!;
  const list: Tick[] = [];
  const origin = end - begin < shortAxis ? begin : 0;
  for (let ms = origin + Math.ceil((begin - origin) / step) * step; ms <= end; ms += step) {
    const cut = cuts.find((c) => ms > c.begin && ms < c.end);
    if (cut) {
      ms = origin + Math.ceil((cut.end - origin) / step) * step - step;
      continue;
    }
    list.push({ at: at(ms), ms });
  }
  return list;
}
