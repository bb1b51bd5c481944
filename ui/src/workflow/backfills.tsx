import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useRight } from "../api/session";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Dialog, DialogFoot } from "../parts/dialog";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Mark } from "../parts/mark";
import { Distance, SessionTime } from "../parts/time";
import css from "./backfills.module.css";
import { type Backfill, holdBackfill, isOpen, killBackfill, readBackfills, releaseBackfill, type Workflow } from "./queries";

/** The backfills of a workflow, newest first, with their progress and actions. */
export function BackfillsPanel({ workflow, ask }: { workflow: Workflow; ask: (() => void) | null }) {
  const query = useInfiniteQuery({
    queryKey: ["backfills", workflow.project.name, workflow.name],
    queryFn: ({ pageParam, signal }) => readBackfills(workflow, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    refetchInterval: (q) => (q.state.data?.pages.some((p) => p.backfills.some(isOpen)) ? 3_000 : 30_000),
  });
  const [killing, setKilling] = useState<Backfill | null>(null);
  if (!query.data) return <Loading query={query} rows={4} />;
  const list = query.data.pages.flatMap((p) => p.backfills);
  if (list.length === 0) {
    return (
      <Empty action={ask ? <Button onClick={ask}>Backfill…</Button> : <CommandLine line={commands.backfills(workflow.project.name, workflow.name)} />}>
        This workflow has no backfills yet. A backfill runs many past sessions as one job.
      </Empty>
    );
  }
  return (
    <>
      <ul className={css.list}>
        {list.map((b) => (
          <Row key={b.id} backfill={b} onKill={() => setKilling(b)} />
        ))}
      </ul>
      {query.error && <Loading query={query} />}
      {query.hasNextPage && (
        <div className={css.more}>
          <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
      <div className={css.more}>
        <CommandLine line={commands.backfills(workflow.project.name, workflow.name)} />
      </div>
      {killing && <KillDialog backfill={killing} onClose={() => setKilling(null)} />}
    </>
  );
}

function Row({ backfill: b, onKill }: { backfill: Backfill; onKill: () => void }) {
  const queries = useQueryClient();
  const mayWrite = useRight("write");
  const turn = useMutation({
    mutationFn: () => (b.status === "held" ? releaseBackfill(b.id) : holdBackfill(b.id)),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["backfills"] }),
  });
  // The others have no attempt yet: they start in a moment, or when they are no longer delayed.
  const running = b.running.flatMap((r) => (r.attemptId === null ? [] : [{ sessionTime: r.sessionTime, attemptId: r.attemptId }]));
  const parts: [string, number, string][] = [
    ["done", b.succeeded, "succeeded"],
    ["failed", b.failed, "failed"],
    ["running", running.length, "running"],
    ["waiting", b.running.length - running.length, "waiting to start"],
    ["skipped", b.leftOut, "skipped"],
    ["waiting", b.notBegun, isOpen(b) ? "pending" : "never started"],
  ];
  const shown = parts.filter(([, n]) => n > 0);
  return (
    <li className={css.row} aria-label={`Backfill ${b.id}`}>
      <p className={css.head}>
        <Mark state={b.status === "held" || b.status === "killing" ? "waiting" : b.status} />
        <b>
          <SessionTime text={b.firstSessionTime} />
          {b.lastSessionTime !== b.firstSessionTime && (
            <>
              {" – "}
              <SessionTime text={b.lastSessionTime} />
            </>
          )}
        </b>
        <span>{words[b.status]}</span>
        <small>
          {b.sessions.toLocaleString("en")} {b.sessions === 1 ? "session" : "sessions"}, {b.parallel} in parallel, <Distance at={Date.parse(b.createdAt)} />
        </small>
        {mayWrite && isOpen(b) && b.status !== "killing" && (
          <span className={css.acts}>
            <Button onClick={() => turn.mutate()} disabled={turn.isPending}>
              {b.status === "held" ? "Release" : "Hold"}
            </Button>
            <Button onClick={onKill}>Kill…</Button>
          </span>
        )}
      </p>
      <div className={css.bar} aria-hidden>
        {shown.map(([look, n, word]) => (
          <span key={word} data-look={look} style={{ flexGrow: n }} />
        ))}
      </div>
      <p className={css.counts}>{shown.map(([, n, word]) => `${n.toLocaleString("en")} ${word}`).join(", ")}</p>
      {b.why && <p className={css.why}>{b.why}</p>}
      {running.length > 0 && (
        <p className={css.counts}>
          Running:{" "}
          {running.map((r, i) => (
            <span key={r.sessionTime}>
              {i > 0 && ", "}
              <Link to="/attempts/$id" params={{ id: r.attemptId }}>
                <SessionTime text={r.sessionTime} />
              </Link>
            </span>
          ))}
        </p>
      )}
      {b.failedAttempts.length > 0 && (
        <p className={css.counts}>
          Failed:{" "}
          {b.failedAttempts.map((id, i) => (
            <span key={id}>
              {i > 0 && ", "}
              <Link to="/attempts/$id" params={{ id }}>
                attempt {id}
              </Link>
            </span>
          ))}
          {b.failed > b.failedAttempts.length && " and more"}
        </p>
      )}
      {turn.error && <Failure error={turn.error} />}
    </li>
  );
}

const words: Record<Backfill["status"], string> = {
  running: "running",
  held: "held: no further sessions start",
  killing: "being killed",
  success: "all succeeded",
  error: "finished with failures",
  killed: "killed",
};

function KillDialog({ backfill, onClose }: { backfill: Backfill; onClose: () => void }) {
  const queries = useQueryClient();
  const kill = useMutation({
    mutationFn: () => killBackfill(backfill.id),
    onSuccess: () => {
      void queries.invalidateQueries();
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title={`Kill backfill ${backfill.id}`}>
      <p>
        No further sessions start, and {backfill.running.length} running sessions are killed. {backfill.notBegun.toLocaleString("en")} sessions will never run.
      </p>
      <CommandLine line={commands.killBackfill(backfill.id)} />
      {kill.error && <Failure error={kill.error} />}
      <DialogFoot>
        <Button onClick={onClose}>Keep running</Button>
        <Button look="danger" disabled={kill.isPending} onClick={() => kill.mutate()}>
          Kill
        </Button>
      </DialogFoot>
    </Dialog>
  );
}
