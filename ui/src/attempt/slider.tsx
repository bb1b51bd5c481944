import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { History, Pause, Play } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { type Attempt, answered, client, pathId } from "../api/client";
import { useRight } from "../api/session";
import type { Outline } from "../live/outline";
import { Past } from "../live/past";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Dialog, DialogFoot } from "../parts/dialog";
import { Failure, Skeleton } from "../parts/feedback";
import { Time } from "../parts/time";
import { useKeys } from "../shell/keys";
import type { Recorded } from "./history";
import { attemptName } from "./name";
import css from "./slider.module.css";

/** Attempts with more tasks than this have no slider, because their history is too large for a page. */
export const mostSlid = 20_000;

/** The duration of the replay of a whole attempt, and of one of its steps, in milliseconds. */
const replay = 12_000;
const frame = 50;

/** The tasks as of an entry of the history; the current tasks without one. */
export function usePast(history: Recorded, round: number, outline: Outline, at: string | undefined): { past: Past | null; index: number; then: Outline } {
  const { changes } = history;
  const past = useMemo(() => (changes ? new Past() : null), [changes !== null, round]);
  if (changes) past?.add(changes); // it only grows, so adding again has no effect
  const last = (changes?.length ?? 0) - 1;
  const index = at !== undefined && past ? Math.max(0, past.indexOf(Number(at))) : last;
  const then = useMemo(() => (at !== undefined && past ? past.at(index, outline.errors) : outline), [at, past, index, outline, outline.version]);
  return { past, index, then };
}

type Props = { attempt: Attempt; outline: Outline; past: Past | null; index: number; at: string | undefined; history: Recorded; open: boolean; setOpen: (open: boolean) => void; move: (seq: string | undefined) => void };

/** The bar below the tasks: it goes back in time, step by step or by dragging, and forks the attempt. */
export function Slider({ attempt, outline, past, index, at, history, open, setOpen, move }: Props) {
  const mayWrite = useRight("write");
  const [forking, setForking] = useState(false);
  const [playing, setPlaying] = useState(false);
  const last = (past?.history.length ?? 0) - 1;
  const go = (to: number) => past && move(to >= last ? undefined : String(past.history[Math.max(0, to)]!.seq));
  usePlaying(playing, past, index, last, go, () => setPlaying(false));
  useKeys([
    { keys: ",", does: "Step back in time", run: () => (open ? go(index - 1) : setOpen(true)) },
    { keys: ".", does: "Step forward in time", run: () => open && go(index + 1) },
  ]);
  if (outline.tasks.size === 0 || outline.tasks.size > mostSlid) return null;
  if (!open && at === undefined) {
    return (
      <div className={css.closed}>
        <Button look="quiet" onClick={() => setOpen(true)}>
          <History size={14} aria-hidden /> Go back in time
        </Button>
      </div>
    );
  }
  if (!past) return <div className={css.bar}>{history.error ? <Failure error={history.error} retry={() => void history.refetch()} /> : <Skeleton rows={1} height={28} />}</div>;
  const now = at === undefined;
  const entry = past.history[index];
  return (
    <div className={css.bar} data-past={!now || undefined}>
      <button type="button" className={css.play} onClick={() => (now ? (go(0), setPlaying(true)) : setPlaying(!playing))} aria-label={playing ? "Stop" : "Play"}>
        {playing ? <Pause size={14} aria-hidden /> : <Play size={14} aria-hidden />}
      </button>
      <input
        type="range"
        min={0}
        max={Math.max(0, last)}
        value={Math.max(0, index)}
        aria-label="Moment of the attempt"
        aria-valuetext={now ? "now" : entry ? `entry ${entry.seq}` : ""}
        onChange={(e) => (setPlaying(false), go(Number(e.target.value)))}
      />
      <span className={css.when} role="status">
        {now || !entry ? "current state" : <>state at <Time at={entry.at} of={attempt.sessionTime} form="clock" /></>}
      </span>
      {!now && mayWrite && attempt.done && <Button onClick={() => setForking(true)}>Fork here…</Button>}
      <Button look="quiet" onClick={() => (setPlaying(false), now ? setOpen(false) : move(undefined))}>
        {now ? "Close" : "Now"}
      </Button>
      {forking && entry && <ForkDialog attempt={attempt} seq={entry.seq} then={past.at(index)} onClose={() => setForking(false)} />}
    </div>
  );
}

/** Advances a replay, at the original speed or so that it takes a few seconds. */
function usePlaying(playing: boolean, past: Past | null, index: number, last: number, go: (to: number) => void, stop: () => void) {
  const latest = useRef({ index, go, stop });
  latest.current = { index, go, stop };
  useEffect(() => {
    if (!playing || !past || last <= 0) return;
    const [first, end] = [past.history[0]!.at, past.history[last]!.at];
    const speed = Math.max(1, (end - first) / replay);
    let at = past.history[Math.max(0, latest.current.index)]!.at;
    const timer = setInterval(() => {
      at += frame * speed;
      const to = Math.max(past.indexAt(at), latest.current.index);
      if (to !== latest.current.index) latest.current.go(to);
      if (to >= last) latest.current.stop();
    }, frame);
    return () => clearInterval(timer);
  }, [playing, past, last]);
}

/** Asks for confirmation before a new attempt is started that keeps the results up to a point in time. */
function ForkDialog({ attempt, seq, then, onClose }: { attempt: Attempt; seq: number; then: Outline; onClose: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const leaves = [...then.tasks.values()].filter((task) => task.children.length === 0);
  const kept = leaves.filter((task) => task.state === "success");
  const [another] = useState(attemptName); // one name for all requests: a lost response does not start a second attempt
  const fork = useMutation({
    mutationFn: () => answered(client.POST("/api/attempts/{id}/fork", { params: { path: { id: pathId(attempt.id) } }, body: { seq, retryAttemptName: another } })),
    onSuccess: async (started) => {
      void queries.invalidateQueries();
      onClose();
      await navigate({ to: "/attempts/$id", params: { id: started.id } });
    },
  });
  return (
    <Dialog open onClose={onClose} title="Fork from this moment">
      <p className={css.what}>
        Starts a new attempt of the same session. It keeps the results of the {kept.length === 1 ? "task that had" : `${kept.length} tasks that had`} succeeded by then, and runs all other tasks with the same parameters.
      </p>
      {kept.length > 0 && (
        <ul className={css.kept} tabIndex={0} aria-label="Tasks with kept results">
          {kept.slice(0, 200).map((task) => (
            <li key={task.id}>
              <code>{task.full}</code>
            </li>
          ))}
          {kept.length > 200 && <li>… and {kept.length - 200} more</li>}
        </ul>
      )}
      <CommandLine line={commands.fork(attempt.id, seq)} />
      {fork.error && <Failure error={fork.error} />}
      <DialogFoot>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="main" disabled={fork.isPending} onClick={() => fork.mutate()}>
          Fork
        </Button>
      </DialogFoot>
    </Dialog>
  );
}
