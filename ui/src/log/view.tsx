import { ArrowDown, ArrowUp, Download, ListEnd, TriangleAlert, WrapText } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Button } from "../parts/button";
import { Empty, Failure } from "../parts/feedback";
import field from "../parts/filter.module.css";
import { Refusal } from "../api/client";
import { useKeys } from "../shell/keys";
import { choose, useSetting } from "../shell/settings";
import { spansOf } from "./ansi";
import type { LogFile } from "./messages";
import { longLine } from "./text";
import { useLog } from "./useLog";
import { useRows } from "./useRows";
import css from "./view.module.css";

type Props = {
  attempt: string;
  files: LogFile[];
  /** The attempt has ended. */
  done: boolean;
  /** The task is running: its log may grow. */
  growing: boolean;
  /** The task failed: the log opens at the first line that shows the cause. */
  failed: boolean;
  /** The lines in the address: "412" or "412-418". */
  lines: string | undefined;
  onLines: (lines: string) => void;
  query: string | undefined;
  onQuery: (query: string) => void;
};

function readLines(text: string | undefined): [number, number] | null {
  const m = /^([0-9]{1,9})(?:-([0-9]{1,9}))?$/.exec(text ?? "");
  return m ? [Number(m[1]), Number(m[2] ?? m[1])] : null;
}

/** The log of a task, line by line: only visible lines are elements of the page. */
export function LogView(props: Props) {
  const log = useLog(props.attempt, props.files, props.done, props.growing);
  const { count, whole, failed, last } = log.state;
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const [follow, setFollow] = useState(props.growing);
  const [at, setAt] = useState(-1); // the line that was jumped to
  const marked = readLines(props.lines);
  const wrap = useSetting("wrap") === "on";
  const rows = useRows(box, count, wrap);
  const { scrollTo } = rows;

  const go = useCallback(
    (line: number) => {
      setFollow(false);
      setAt(line);
      scrollTo(line, "center");
    },
    [scrollTo],
  );
  const opened = useRef(false);
  useEffect(() => {
    if (opened.current || count === 0) return;
    if (marked) {
      if (count < marked[0] && !whole) return;
      opened.current = true;
      go(Math.min(marked[0], count) - 1);
    } else if (props.failed && whole) {
      opened.current = true;
      void log.find("cause", last).then((line) => line >= 0 && go(line));
    }
  }, [count, whole, last, marked, props.failed, go, log]);
  useEffect(() => {
    if (follow && count > 0) scrollTo(count - 1, "end");
  }, [follow, count, scrollTo]);

  // The line that was jumped to stays visible when the size changes, until the user scrolls.
  const left = useRef(false);
  useEffect(() => {
    left.current = false;
    if (!box || at < 0) return;
    const again = new ResizeObserver(() => !left.current && box.clientHeight > 0 && scrollTo(at, "center"));
    again.observe(box);
    return () => again.disconnect();
  }, [at, box, scrollTo]);

  const nextError = useCallback(() => void log.find("error", at + 1).then((line) => line >= 0 && go(line)), [log, at, go]);
  const turnWrap = () => choose("wrap", wrap ? null : "on");
  useKeys([
    { keys: "w", does: wrap ? "Do not wrap long lines of the log" : "Wrap long lines of the log", run: turnWrap },
    { keys: "f", does: "Follow the end of the log", run: () => setFollow((f) => !f) },
    { keys: "n", does: "Next line of the log with an error", run: nextError },
  ]);
  if (props.files.length === 0) return <Empty>{props.growing ? "The log is still empty." : "This task wrote no log."}</Empty>;
  return (
    <div className={css.log}>
      <Tools {...props} log={log} go={go} at={at} follow={follow} setFollow={setFollow} nextError={nextError} wrap={wrap} turnWrap={turnWrap} />
      {failed && <Failure error={new Refusal(failed.message, failed.status, null)} />}
      <div
        ref={setBox}
        className={css.lines}
        role="log"
        aria-label="Log"
        aria-live="off"
        tabIndex={0}
        onWheel={(e) => {
          left.current = true;
          if (e.deltaY < 0) setFollow(false);
        }}
        onPointerDown={() => (left.current = true)}
        onTouchMove={() => setFollow(false)}
        onKeyDown={(e) => {
          if (/^(Arrow|Page|Home|End)/.test(e.key)) left.current = true;
          if (/^(ArrowUp|PageUp|Home)$/.test(e.key)) setFollow(false);
        }}
      >
        <div className={css.all} data-wrap={wrap || undefined} style={{ height: rows.total }}>
          {rows.items.map((item) => (
            <Line
              key={item.index}
              n={item.index}
              measure={rows.measure}
              top={item.top}
              text={log.line(item.index)}
              query={log.hits.text}
              here={item.index === at || (marked !== null && item.index + 1 >= marked[0] && item.index + 1 <= marked[1])}
              onPick={(range) => props.onLines(range && marked ? `${Math.min(marked[0], item.index + 1)}-${Math.max(marked[0], item.index + 1)}` : String(item.index + 1))}
            />
          ))}
        </div>
      </div>
      {log.state.cut && <p className={css.note}>Only the first 200 MB are shown. Download the file for the rest.</p>}
    </div>
  );
}

type ToolProps = Props & { log: ReturnType<typeof useLog>; go: (line: number) => void; at: number; follow: boolean; setFollow: (f: boolean) => void; nextError: () => void; wrap: boolean; turnWrap: () => void };

function Tools({ log, go, follow, setFollow, nextError, wrap, turnWrap, query = "", onQuery, attempt, files, growing }: ToolProps) {
  const { hits, total } = log.hits;
  const [hit, setHit] = useState(0);
  const { search } = log;
  const { count, characters } = log.state;
  useEffect(() => {
    const timer = setTimeout(() => search(query), query === "" ? 0 : 120);
    return () => clearTimeout(timer);
  }, [search, query, count, characters]);
  const step = (by: number) => {
    if (hits.length === 0) return;
    const next = (hit + by + hits.length) % hits.length;
    setHit(next);
    go(hits[next]!.line);
  };
  const first = hits[0]?.line;
  useEffect(() => {
    setHit(0);
    if (query !== "" && first !== undefined) go(first);
  }, [query, first, go]);
  return (
    <div className={css.tools}>
      <input
        type="search"
        className={`${field.filter} ${css.search}`}
        value={query}
        placeholder="Search the log"
        aria-label="Search the log"
        spellCheck={false}
        onChange={(e) => onQuery(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter") step(e.shiftKey ? -1 : 1);
          if (e.key === "Escape") e.currentTarget.blur();
        }}
      />
      {query !== "" && (
        <>
          <span className={css.hits} aria-live="polite">
            {total === 0 ? "none" : `${hit + 1}/${total.toLocaleString("en")}`}
          </span>
          <Button look="quiet" className={css.small} aria-label="Previous match" disabled={total === 0} onClick={() => step(-1)}>
            <ArrowUp size={14} aria-hidden />
          </Button>
          <Button look="quiet" className={css.small} aria-label="Next match" disabled={total === 0} onClick={() => step(1)}>
            <ArrowDown size={14} aria-hidden />
          </Button>
        </>
      )}
      <span className={css.grow} />
      <Button look="quiet" className={css.small} aria-label="Next line with an error" title="Next line with an error (n)" onClick={nextError}>
        <TriangleAlert size={14} aria-hidden />
      </Button>
      <Button look="quiet" className={css.small} aria-label="Wrap long lines" aria-pressed={wrap} title="Wrap long lines (w)" onClick={turnWrap}>
        <WrapText size={15} aria-hidden />
      </Button>
      <Button look="quiet" className={css.small} aria-label="Follow the end" aria-pressed={follow} title="Follow the end (f)" onClick={() => setFollow(!follow)}>
        <ListEnd size={15} aria-hidden />
      </Button>
      <a
        className={css.download}
        aria-label="Download the file"
        title="Download the file"
        href={`/api/logs/${encodeURIComponent(attempt)}/files/${encodeURIComponent(files.at(-1)!.name)}`}
        download
      >
        <Download size={14} aria-hidden />
      </a>
      {growing && <span className={css.live}>live</span>}
    </div>
  );
}

type LineProps = { n: number; measure: ((row: Element | null) => void) | undefined; top: number; text: string | null; query: string; here: boolean; onPick: (range: boolean) => void };

function Line({ n, measure, top, text, query, here, onPick }: LineProps) {
  const [whole, setWhole] = useState(false);
  const long = text !== null && text.length > longLine && !whole;
  const spans = useMemo(() => (text === null ? [] : spansOf(long ? text.slice(0, longLine) : text)), [text, long]);
  return (
    <div ref={measure} data-index={n} className={css.line} data-here={here || undefined} style={{ transform: `translateY(${top}px)` }}>
      <button type="button" className={css.number} tabIndex={-1} onClick={(e) => onPick(e.shiftKey)} aria-label={`Line ${n + 1}`}>
        {n + 1}
      </button>
      <span className={css.text}>
        {spans.map((s, i) => (
          <span key={i} data-color={s.color ?? undefined} data-bold={s.bold || undefined} data-dim={s.dim || undefined} data-italic={s.italic || undefined} data-underline={s.underline || undefined}>
            <Marked text={s.text} query={query} />
          </span>
        ))}
        {long && (
          <button type="button" className={css.rest} onClick={() => setWhole(true)}>
            … {(text.length - longLine).toLocaleString("en")} more characters
          </button>
        )}
      </span>
    </div>
  );
}

/** Text with highlighted matches. */
function Marked({ text, query }: { text: string; query: string }) {
  if (query === "") return text;
  const parts = [];
  const low = text.toLowerCase();
  const needle = query.toLowerCase();
  let from = 0;
  for (let i = low.indexOf(needle); i >= 0; i = low.indexOf(needle, from)) {
    parts.push(text.slice(from, i), <mark key={i}>{text.slice(i, i + needle.length)}</mark>);
    from = i + needle.length;
  }
  return [...parts, text.slice(from)];
}
