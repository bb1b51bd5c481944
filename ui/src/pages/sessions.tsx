import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { useCallback } from "react";
import type { Brief } from "../api/client";
import { findSessions } from "../api/queries";
import { Button } from "../parts/button";
import { Empty, Loading } from "../parts/feedback";
import { Mark } from "../parts/mark";
import { SearchField } from "../parts/search";
import { standingOf } from "../parts/state";
import { Distance, Duration, SessionTime } from "../parts/time";
import { useTitle } from "../shell/title";
import { workflowName } from "./headline";
import css from "./list.module.css";

const route = getRouteApi("/sessions");
const states = [
  [undefined, "All"],
  ["running", "Running"],
  ["error", "Failed"],
  ["success", "Done"],
  ["killed", "Killed"],
] as const;

export default function Sessions() {
  useTitle("Sessions");
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const query = useInfiniteQuery({
    queryKey: ["sessions", filter],
    queryFn: ({ pageParam, signal }) => findSessions(filter, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: (before) => before,
    refetchInterval: (q) => (q.state.data?.pages.length === 1 ? 10_000 : false),
  });
  const search = useCallback((q: string) => void navigate({ search: (s) => ({ ...s, q: q || undefined }), replace: true }), [navigate]);
  const rows = query.data?.pages.flatMap((p) => p.sessions) ?? [];
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h1>Sessions</h1>
        <nav className={css.states} aria-label="State">
          {states.map(([state, name]) => (
            <Link key={name} from="/sessions" to="." search={(s) => ({ ...s, state })} aria-current={filter.state === state ? "true" : undefined}>
              {name}
            </Link>
          ))}
        </nav>
        <SearchField value={filter.q ?? ""} onChange={search} label="Name, label or tag:daily" />
      </header>
      <Chips />
      <div className={css.panel}>
        {!query.data && <Loading query={query} rows={8} height={48} />}
        {query.data && rows.length === 0 && !query.hasNextPage && <Empty>No matching sessions.</Empty>}
        <ul>
          {rows.map((s) => (
            <Row key={s.sessionId} brief={s} />
          ))}
        </ul>
        {query.data && query.error && <Loading query={query} />}
        {query.hasNextPage && (
          <div className={css.more}>
            <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              {rows.length === 0 ? "Search further back" : "Show earlier sessions"}
            </Button>
          </div>
        )}
      </div>
    </div>
  );
}

/** The filter that a link has set. */
function Chips() {
  const { project, workflow } = route.useSearch();
  if (!project && !workflow) return null;
  return (
    <p className={css.note}>
      <Link from="/sessions" to="." search={(s) => ({ ...s, project: undefined, workflow: undefined })} className={css.chip} title="Show sessions of all workflows">
        {[project, workflow].filter(Boolean).join("/")} <X size={13} aria-label="Show sessions of all workflows" />
      </Link>
    </p>
  );
}

function Row({ brief }: { brief: Brief }) {
  return (
    <li>
      <Link to="/attempts/$id" params={{ id: brief.id }} className={css.row} data-row>
        <span className={`${css.cell} ${css.state}`}>
          <Mark state={standingOf(brief)} word />
        </span>
        <span className={css.name}>
          {workflowName(brief)}
          {brief.retryAttemptName !== null && <span className={css.quiet}> · retried</span>}
        </span>
        <span className={`${css.cell} ${css.time}`}>
          <SessionTime text={brief.sessionTime} />
        </span>
        <span className={`${css.cell} ${css.right}`}>
          <Duration begin={brief.created} end={brief.finished} />
        </span>
        <span className={`${css.cell} ${css.right}`}>
          <Distance at={brief.finished || brief.created} />
        </span>
      </Link>
    </li>
  );
}
