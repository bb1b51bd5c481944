import { getRouteApi } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronRight, Route, Scissors } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Attempt } from "../api/client";
import { criticalPath } from "../live/critical";
import { isOver, type Outline, shownState, type Try, triesUntil } from "../live/outline";
import { Empty } from "../parts/feedback";
import field from "../parts/filter.module.css";
import { Mark } from "../parts/mark";
import { lookOf } from "../parts/state";
import { Toggle } from "../parts/toggle";
import { useNow, usePlace } from "../parts/time";
import { formatDuration, formatTime } from "../parts/zone";
import { type Scale, scaleOf, shortAxis } from "./scale";
import css from "./timeline.module.css";
import { type Filter, type Row, rowsOf, type Shown, spansOf } from "./tree";

const route = getRouteApi("/attempts/$id");
const rowHeight = 28;
const axisHeight = 26;
/** The minimum width of a bar in pixels, so that even the quickest task is visible. */
const leastBar = 3;

type Props = {
  attempt: Attempt;
  /** The displayed tasks and the current tasks. The axis always covers the current ones. */
  outline: Outline;
  whole: Outline;
  /** The displayed time in milliseconds since 1970; null for now. */
  at: number | null;
  live: boolean;
  /** The runs of tasks that ran several times, if known. */
  tries: ReadonlyMap<number, Try[]>;
  selected: number | null;
  onSelect: (task: number) => void;
  /** Controls before the tools, which switch the view. */
  views?: ReactNode;
};
type Spans = Map<number, { begin: number; end: number }>;

/** noRows explains why no task is shown. */
function noRows(attempt: Attempt, outline: Outline): string {
  if (outline.tasks.size > 0) return "No matching tasks.";
  if (attempt.imported) return "The attempt was imported: it ran on another server, and its tasks and logs were not copied.";
  return "The attempt is waiting for its turn. It has no tasks yet.";
}

/** The tree of tasks with their bars, in one scroller to keep them aligned. */
export function Timeline({ attempt, outline, whole, at, live, tries: all, selected, onSelect, views }: Props) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [shown, setShown] = useState<Shown>({ toggled: new Set(), unfolded: new Set() });
  const [text, setText] = useState("");
  const [cut, setCut] = useState(true);
  const only = search.only === "failed" || search.only === "running" || search.only === "critical" ? search.only : undefined;
  const turn = (to: string) => void navigate({ search: (s) => ({ ...s, only: only === to ? undefined : to }), replace: true });
  const critical = useMemo(() => (only === "critical" ? new Set(criticalPath(whole).map((t) => t.id)) : undefined), [only, whole, whole.version]);
  const filter = useMemo<Filter>(() => ({ text, only, ...(critical ? { critical } : {}) }), [text, only, critical]);
  const rows = useMemo(() => rowsOf(outline, shown, filter), [outline, outline.version, shown, filter]);
  const spans = useMemo(() => spansOf(outline), [outline, outline.version]);
  const tries = useMemo(() => (at === null ? all : triesUntil(all, at)), [all, at]);
  const clock = useNow();
  const now = at ?? clock;
  const wholeSpans = useMemo(() => spansOf(whole), [whole, whole.version]);
  const scale = useScale(attempt, wholeSpans, whole, live ? clock : 0, cut);
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => rowHeight, overscan: 20, scrollMargin: axisHeight, scrollPaddingStart: axisHeight });
  const toggle = useCallback((row: Row) => setShown((s) => toggled(s, row)), []);
  const active = rows.findIndex((r) => r.kind === "task" && r.task.id === selected);
  useScrollTo(list, active, selected);
  return (
    <div className={css.timeline}>
      <div className={css.tools}>
        {views}
        <input
          type="search"
          data-filter
          className={`${field.filter} ${css.filter}`}
          value={text}
          placeholder="Filter tasks"
          aria-label="Filter tasks"
          spellCheck={false}
          onChange={(e) => setText(e.target.value)}
          onKeyDown={(e) => e.key === "Escape" && e.currentTarget.blur()}
        />
        {(["failed", "running"] as const).map((o) => (
          <Toggle key={o} on={only === o} turn={() => turn(o)}>
            <Mark state={o === "failed" ? "error" : "running"} size={12} word />
          </Toggle>
        ))}
        <Toggle on={only === "critical"} title="Tasks that determined the duration of the attempt" turn={() => turn("critical")}>
          <Route size={12} aria-hidden /> critical
        </Toggle>
        <span className={css.grow} />
        {(scale.gaps.length > 0 || !cut) && (
          <Toggle on={cut} title="Shorten long idle times" turn={() => setCut(!cut)}>
            <Scissors size={12} aria-hidden /> idle gaps
          </Toggle>
        )}
      </div>
      <div className={css.scroller} ref={scroller}>
        <Axis scale={scale} of={attempt.sessionTime} />
        {rows.length === 0 && <Empty>{noRows(attempt, outline)}</Empty>}
        <div
          role="tree"
          aria-label="Tasks"
          className={css.rows}
          tabIndex={0}
          style={{ height: list.getTotalSize() }}
          aria-activedescendant={active >= 0 ? `task-${selected}` : undefined}
          onKeyDown={(e) => onKey(e, rows, active, onSelect, toggle)}
        >
          {list.getVirtualItems().map((item) => (
            <RowView
              key={item.key}
              row={rows[item.index]!}
              top={item.start - axisHeight}
              selected={item.index === active}
              spans={spans}
              tries={tries}
              scale={scale}
              now={now}
              onSelect={onSelect}
              onToggle={toggle}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

function toggled(shown: Shown, row: Row): Shown {
  const [set, id] = row.kind === "fold" ? [new Set(shown.unfolded), row.parent] : [new Set(shown.toggled), row.task.id];
  if (!set.delete(id)) set.add(id);
  return row.kind === "fold" ? { ...shown, unfolded: set } : { ...shown, toggled: set };
}

/** Scrolls to the task that the address selects, once it exists. */
function useScrollTo(list: { scrollToIndex: (i: number, o: { align: "center" }) => void }, active: number, selected: number | null) {
  const gone = useRef<number | null>(null);
  useEffect(() => {
    if (active < 0 || gone.current === selected) return;
    gone.current = selected;
    list.scrollToIndex(active, { align: "center" });
  }, [list, active, selected]);
}

function onKey(e: KeyboardEvent, rows: Row[], active: number, onSelect: (task: number) => void, toggle: (row: Row) => void) {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[e.key];
  const row = rows[active];
  if (step) {
    for (let i = active + step; i >= 0 && i < rows.length; i += step) {
      const next = rows[i]!;
      if (next.kind === "fold") continue;
      onSelect(next.task.id);
      break;
    }
  } else if (row?.kind === "task" && ((e.key === "ArrowRight" && row.children && !row.open) || (e.key === "ArrowLeft" && row.open))) {
    toggle(row);
  } else if (row?.kind === "task" && e.key === "ArrowLeft") {
    const parent = rows.slice(0, active).findLast((r) => r.kind === "task" && r.depth < row.depth);
    if (parent?.kind === "task") onSelect(parent.task.id);
  } else if (row && (e.key === "Enter" || e.key === " ")) {
    toggle(row);
  } else return;
  e.preventDefault();
  e.stopPropagation();
}

function useScale(attempt: Attempt, spans: Spans, outline: Outline, now: number, cut: boolean): Scale {
  return useMemo(() => {
    const work: { begin: number; end: number }[] = [];
    let end = now;
    let begin = 0;
    for (const [id, s] of spans) {
      if (s.begin === 0) continue;
      const stop = s.end || now || s.begin;
      if (begin === 0 || s.begin < begin) begin = s.begin;
      end = Math.max(end, stop);
      if (outline.tasks.get(id)!.children.length === 0) work.push({ begin: s.begin, end: stop });
    }
    begin ||= Date.parse(attempt.createdAt);
    return scaleOf(work, begin, Math.max(end, begin + 1), cut);
  }, [attempt, spans, outline, now, cut]);
}

function Axis({ scale, of }: { scale: Scale; of: string }) {
  const place = usePlace(of);
  const short = scale.end - scale.begin < shortAxis;
  return (
    <div className={css.axis}>
      <span className={css.heading}>Task</span>
      <span className={css.heading}>Duration</span>
      <span className={css.plot}>
        {scale.ticks.map((t) => (
          <span key={t.ms} className={css.tick} style={{ left: `${t.at * 100}%` }}>
            {t.at < 0.88 && (short ? (t.ms === scale.begin ? "0" : `+${formatDuration(t.ms - scale.begin)}`) : formatTime(t.ms, place, "clock"))}
          </span>
        ))}
        {scale.gaps.map((g) => (
          <span key={g.at} className={css.gap} style={{ left: `${g.at * 100}%` }} title={`Nothing ran for ${formatDuration(g.ms)}`}>
            {formatDuration(g.ms)}
          </span>
        ))}
      </span>
    </div>
  );
}

type RowProps = {
  row: Row;
  top: number;
  selected: boolean;
  spans: Spans;
  tries: ReadonlyMap<number, Try[]>;
  scale: Scale;
  now: number;
  onSelect: (task: number) => void;
  onToggle: (row: Row) => void;
};

function RowView({ row, top, selected, spans, tries, scale, now, onSelect, onToggle }: RowProps) {
  const style = { transform: `translateY(${top}px)` };
  const indent = { paddingLeft: 12 + row.depth * 16 };
  if (row.kind === "fold") {
    return (
      <div role="treeitem" aria-level={row.depth + 1} aria-expanded={false} aria-selected={false} className={css.row} style={style} onClick={() => onToggle(row)}>
        <span className={css.name} style={indent}>
          <ChevronRight size={14} aria-hidden className={css.arrow} />
          <span className={css.label}>{row.label}</span>
          <Tallied {...row.tally} />
        </span>
        <span className={css.took}>{row.begin > 0 && row.end > 0 && formatDuration(row.end - row.begin)}</span>
        <span className={css.plot}>{row.begin > 0 && <Bar begin={row.begin} end={row.end || now} look="fold" scale={scale} />}</span>
      </div>
    );
  }
  const { task } = row;
  const span = spans.get(task.id)!;
  const end = span.end || (isOver(task.state) ? span.begin : now);
  const several = tries.get(task.id);
  return (
    <div
      id={`task-${task.id}`}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-selected={selected}
      aria-expanded={row.children ? row.open : undefined}
      className={css.row}
      data-selected={selected || undefined}
      style={style}
      onClick={() => onSelect(task.id)}
    >
      <span className={css.name} style={indent}>
        {row.children ? (
          <ChevronRight
            size={14}
            aria-hidden
            className={css.arrow}
            data-open={row.open || undefined}
            onClick={(e) => {
              e.stopPropagation();
              onToggle(row);
            }}
          />
        ) : (
          <span className={css.arrow} />
        )}
        <Mark state={shownState(task)} size={13} />
        <span className={css.label} title={task.full}>
          {row.label}
        </span>
        {row.again > 1 && <small className={css.again}>again {row.again}</small>}
        {task.runs > 1 && <small className={css.again}>↻{task.runs - 1}</small>}
        {task.resumed && <small className={css.again}>kept</small>}
        {task.standing === "skipped" && <small className={css.again}>skipped</small>}
        {task.standing === "waits" && <small className={css.again}>waits</small>}
      </span>
      <span className={css.took}>{span.begin > 0 && !task.resumed && formatDuration(end - span.begin)}</span>
      <span className={css.plot}>
        {span.begin > 0 && !task.resumed && several && several.length > 1
          ? several.map((t) => <Bar key={t.begin} begin={t.begin} end={t.end || now} look={lookOf(t.state === "running" ? task.state : t.state)} scale={scale} />)
          : span.begin > 0 && !task.resumed && <Bar begin={span.begin} end={end} look={row.children ? "group" : lookOf(shownState(task))} state={lookOf(shownState(task))} scale={scale} />}
      </span>
    </div>
  );
}

function Bar({ begin, end, look, state, scale }: { begin: number; end: number; look: string; state?: string; scale: Scale }) {
  const left = scale.at(begin);
  return <span className={css.bar} data-look={look} data-state={state} style={{ left: `min(${left * 100}%, 100% - ${leastBar}px)`, width: `max(${leastBar}px, ${(scale.at(end) - left) * 100}%)` }} />;
}

function Tallied({ done, running, failed, rest }: { done: number; running: number; failed: number; rest: number }) {
  const parts: [string, number][] = [
    ["success", done],
    ["running", running],
    ["error", failed],
    ["blocked", rest],
  ];
  return (
    <span className={css.tally}>
      {parts
        .filter(([, n]) => n > 0)
        .map(([state, n]) => (
          <span key={state}>
            <Mark state={state} size={10} />
            {n.toLocaleString("en")}
          </span>
        ))}
    </span>
  );
}
