import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronDown, ChevronRight } from "lucide-react";
import { type CSSProperties, type KeyboardEvent, useMemo, useRef, useState } from "react";
import type { Brief } from "../api/client";
import { Empty, Loading } from "../parts/feedback";
import { Mark } from "../parts/mark";
import { lookOf, standingOf, wordOf } from "../parts/state";
import { Distance, Duration, SessionTime, usePlace } from "../parts/time";
import { formatDuration, formatTime, readOffsetTime } from "../parts/zone";
import css from "./grid.module.css";
import { gridQuery, type Workflow } from "./queries";
import { quantile, type Row, rowsOf } from "./rows";

type Props = { workflow: Workflow; shown: string | null; show: (attempt: string) => void; filter: string };

/** The last sessions of a workflow next to each other, with the results of their tasks. */
export function GridView({ workflow, shown, show, filter }: Props) {
  const root = `+${workflow.name}`;
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const top = useQuery(gridQuery(workflow.id, null));
  const parents = [...open];
  const inner = useQueries({ queries: parents.map((parent) => gridQuery(workflow.id, parent)) });
  const levels = new Map(parents.map((parent, i) => [parent, inner[i]?.data ?? null]));
  if (top.data) levels.set(root, top.data);
  const rows = rowsOf(root, levels, open).filter((row) => row.full.toLowerCase().includes(filter.toLowerCase()));
  const toggle = (full: string) =>
    setOpen((before) => {
      const now = new Set(before);
      if (!now.delete(full)) now.add(full);
      return now;
    });
  if (!top.data) return <Loading query={top} rows={8} height={28} />;
  const columns = [...top.data.columns].reverse();
  if (columns.length === 0) return <Empty>This workflow has not run yet.</Empty>;
  return (
    <>
      <Sessions columns={columns} />
      <Table columns={columns} rows={rows} root={root} shown={shown} show={show} toggle={toggle} />
      {rows.length === 0 && filter && <Empty>No matching tasks.</Empty>}
      {top.data.more && <p className={css.foot}>Not all tasks are shown. Open an attempt to see all of them.</p>}
    </>
  );
}

type TableProps = { columns: Brief[]; rows: Row[]; root: string; shown: string | null; show: (attempt: string) => void; toggle: (full: string) => void };

/** The grid itself: a single cell takes the focus, and arrow keys move it. */
function Table({ columns, rows, root, shown, show, toggle }: TableProps) {
  const table = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<[row: number, column: number]>([-1, columns.length - 1]);
  const focus = (row: number, column: number) => {
    const next: [number, number] = [Math.min(rows.length - 1, Math.max(-1, row)), Math.min(columns.length - 1, Math.max(0, column))];
    setAt(next);
    table.current?.querySelector<HTMLElement>(`[data-cell="${next[0]}:${next[1]}"]`)?.focus();
  };
  const press = (e: KeyboardEvent) => {
    const steps: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[e.key];
    if (!step || e.ctrlKey || e.altKey || e.metaKey) return;
    e.preventDefault();
    focus(at[0] + step[0], at[1] + step[1]);
  };
  const tabOf = (row: number, column: number) => (row === Math.min(at[0], rows.length - 1) && column === Math.min(at[1], columns.length - 1) ? 0 : -1);
  const longest = useMemo(() => Math.max(1, ...columns.map(took)), [columns]);
  const usual = useMemo(() => quantile(columns.filter((c) => c.status === "success").map(took), 0.9), [columns]);
  return (
    <div ref={table} className={css.grid} role="grid" aria-label="Tasks by session" onKeyDown={press} style={{ "--columns": columns.length } as CSSProperties}>
      <div role="row" className={css.row} data-head>
        <span role="columnheader" className={css.corner}>
          Duration
          {usual > 0 && <small>usually up to {formatDuration(usual)}</small>}
        </span>
        {columns.map((c, i) => (
          <Link
            key={c.id}
            role="columnheader"
            to="/attempts/$id"
            params={{ id: c.id }}
            className={css.bar}
            data-cell={`-1:${i}`}
            data-shown={c.id === shown || undefined}
            tabIndex={tabOf(-1, i)}
            onFocus={() => (setAt([-1, i]), show(c.id))}
            onMouseEnter={() => show(c.id)}
            aria-label={`Session ${c.sessionTime}: ${wordOf(standingOf(c))}${c.finished ? `, ${formatDuration(took(c))}` : ""}`}
          >
            {usual > 0 && <i style={{ bottom: `${(usual / longest) * 100}%` }} aria-hidden />}
            <span data-look={lookOf(standingOf(c))} style={{ height: `${Math.max(4, (took(c) / longest) * 100)}%` }} />
          </Link>
        ))}
      </div>
      <Days columns={columns} />
      {rows.map((row, r) => (
        <div role="row" className={css.row} key={row.full}>
          <span role="rowheader" className={css.name} style={{ paddingLeft: 8 + row.depth * 16 }} title={row.full}>
            {row.inner ? (
              <button type="button" onClick={() => toggle(row.full)} aria-expanded={row.open} aria-label={`${row.open ? "Close" : "Open"} ${row.full.slice(root.length)}`}>
                {row.open ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
              </button>
            ) : (
              <em />
            )}
            <code>{row.name}</code>
            {row.loading && <small>…</small>}
          </span>
          {row.cells.map((cell, i) => {
            const c = columns[i]!;
            const props = { role: "gridcell", className: css.cell, "data-cell": `${r}:${i}`, "data-shown": c.id === shown || undefined, tabIndex: tabOf(r, i), onFocus: () => (setAt([r, i]), show(c.id)), onMouseEnter: () => show(c.id) };
            if (!cell) return <span key={c.id} {...props} aria-label="no such task" />;
            const said = `${wordOf(cell.state)}${cell.took ? `, ${formatDuration(cell.took)}` : ""}${cell.tries > 1 ? `, ${cell.tries} of them` : ""}`;
            return (
              <Link key={c.id} {...props} to="/attempts/$id" params={{ id: c.id }} search={{ task: row.full }} aria-label={said} title={`${row.full}\n${said}`}>
                <Mark state={cell.state} size={12} />
              </Link>
            );
          })}
        </div>
      ))}
    </div>
  );
}

const took = (c: Brief) => (c.finished ? c.finished - c.created : 0);

/** The days of the sessions, without duplicates. */
function Days({ columns }: { columns: Brief[] }) {
  const place = usePlace(columns.at(-1)?.sessionTime);
  const dayOf = (c: Brief) => formatTime(readOffsetTime(c.sessionTime).at, place, "minute").slice(0, 10);
  return (
    <div className={css.row} data-days aria-hidden>
      <span className={css.corner} />
      {columns.map((c, i) => (
        <span key={c.id} className={css.day}>
          {i === 0 || dayOf(c) !== dayOf(columns[i - 1]!) ? dayOf(c).slice(8) : ""}
        </span>
      ))}
    </div>
  );
}

/** The same sessions as a list, for narrow screens. */
function Sessions({ columns }: { columns: Brief[] }) {
  return (
    <ul className={css.list} aria-label="Sessions">
      {[...columns].reverse().map((c) => (
        <li key={c.id}>
          <Link to="/attempts/$id" params={{ id: c.id }} data-row>
            <Mark state={standingOf(c)} size={16} />
            <SessionTime text={c.sessionTime} />
            <small>
              {c.finished ? <Duration begin={c.created} end={c.finished} /> : <Distance at={c.created} />}
            </small>
          </Link>
        </li>
      ))}
    </ul>
  );
}
