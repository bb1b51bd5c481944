import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { type Attempt, answered, client, pathId } from "../api/client";
import { attemptQuery, workflowQuery } from "../api/queries";
import { useRight } from "../api/session";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Dialog, DialogFoot } from "../parts/dialog";
import { Failure, Loading } from "../parts/feedback";
import { PauseDialog, UnpauseButton } from "../parts/pause";
import { SessionTime } from "../parts/time";
import css from "./actions.module.css";
import { attemptName } from "./name";

async function retry(attempt: Attempt, newest: boolean, retryAttemptName: string): Promise<Attempt> {
  let workflow = attempt.workflow.id;
  if (newest || workflow === null) {
    const found = await answered(
      client.GET("/api/projects/{id}/workflows/{name}", { params: { path: { id: pathId(attempt.project.id), name: attempt.workflow.name } } }),
    );
    workflow = found.id;
  }
  return answered(
    client.PUT("/api/attempts", {
      body: {
        workflowId: workflow,
        sessionTime: attempt.sessionTime,
        retryAttemptName,
        params: attempt.params,
        resume: { mode: "failed", attemptId: attempt.id },
      },
    }),
  ) as Promise<Attempt>;
}

/** Asks what a retry of the failed tasks is to run, and starts it. What succeeded is kept. */
export function RetryDialog({ attempt: id, onClose }: { attempt: string; onClose: () => void }) {
  const query = useQuery(attemptQuery(id));
  return (
    <Dialog open onClose={onClose} title="Retry what failed">
      {query.data ? <RetryForm attempt={query.data} onClose={onClose} /> : <Loading query={query} rows={3} />}
    </Dialog>
  );
}

function RetryForm({ attempt, onClose }: { attempt: Attempt; onClose: () => void }) {
  const [newest, setNewest] = useState(true);
  const [another] = useState(attemptName); // one for all tries: an answer that was lost makes no second attempt
  const navigate = useNavigate();
  const queries = useQueryClient();
  const name = useId();
  const stored = useQuery({ ...workflowQuery(attempt.workflow.id ?? ""), enabled: attempt.workflow.id !== null });
  const start = useMutation({
    mutationFn: () => retry(attempt, newest, another),
    onSuccess: async (started) => {
      void queries.invalidateQueries();
      onClose();
      await navigate({ to: "/attempts/$id", params: { id: started.id } });
    },
  });
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        start.mutate();
      }}
    >
      <p className={css.what}>
        <b>
          {attempt.project.name}/{attempt.workflow.name}
        </b>{" "}
        of <SessionTime text={attempt.sessionTime} />. Tasks that succeeded are kept, all others run.
      </p>
      <fieldset className={css.choice}>
        <legend>Revision</legend>
        <label>
          <input type="radio" name={name} checked={newest} onChange={() => setNewest(true)} />
          <span>
            The newest one <small>with what was mended since</small>
          </span>
        </label>
        <label>
          <input type="radio" name={name} checked={!newest} disabled={attempt.workflow.id === null} onChange={() => setNewest(false)} />
          <span>
            The one that failed <small>{stored.data?.revision}</small>
          </span>
        </label>
      </fieldset>
      <CommandLine line={commands.retryFailed(attempt.id, newest)} />
      {start.error && <Failure error={start.error} />}
      <DialogFoot>
        <Button onClick={onClose}>Not now</Button>
        <Button look="main" type="submit" disabled={start.isPending}>
          Retry failed
        </Button>
      </DialogFoot>
    </form>
  );
}

function killWords(again: boolean, running: number): string {
  if (again) return "It was killed before: its _cancel and _finally, which still run, are ended as well.";
  if (running === 0) return "No task is running. No other one begins.";
  return `${running === 1 ? "One task is running: it is ended." : `${running} tasks are running: they are ended.`} No other one begins.`;
}

/** Asks before an attempt is killed: what runs is ended. */
export function KillDialog({ attempt, running, onClose }: { attempt: Attempt; running: number; onClose: () => void }) {
  const queries = useQueryClient();
  const kill = useMutation({
    mutationFn: () =>
      answered(client.POST("/api/attempts/{id}/kill", { params: { path: { id: pathId(attempt.id) } }, headers: { "Content-Type": "application/json" } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["attempt", attempt.id] });
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title="Kill this attempt">
      <p className={css.what}>{killWords(attempt.cancelRequested, running)}</p>
      <CommandLine line={commands.kill(attempt.id)} />
      {kill.error && <Failure error={kill.error} />}
      <DialogFoot>
        <Button onClick={onClose}>Let it run</Button>
        <Button look="danger" disabled={kill.isPending} onClick={() => kill.mutate()}>
          Kill
        </Button>
      </DialogFoot>
    </Dialog>
  );
}

const asked = (attempt: string) => ({ params: { path: { id: pathId(attempt) } } });

/** Asks before an attempt is paused: nothing new begins until it goes on. */
export function PauseAttempt({ attempt, onClose }: { attempt: Attempt; onClose: () => void }) {
  return (
    <PauseDialog
      title="Pause this attempt"
      what="What runs ends, and no other task begins until the attempt goes on."
      line={commands.pause(attempt.id)}
      send={(reason) => answered(client.POST("/api/attempts/{id}/pause", { ...asked(attempt.id), body: { reason } }))}
      shown={["attempt", attempt.id]}
      onClose={onClose}
    />
  );
}

/** Lets an attempt go on that was paused. */
export function UnpauseAttempt({ attempt }: { attempt: Attempt }) {
  return <UnpauseButton send={() => answered(client.POST("/api/attempts/{id}/unpause", { ...asked(attempt.id), body: {} }))} shown={["attempt", attempt.id]} />;
}

/** What may be done with an attempt now, and by whom; cleaning: something goes on that a kill has left alone. */
export function useActions(attempt: Attempt | undefined, cleaning = false) {
  const mayWrite = useRight("write");
  return {
    mayRetry: mayWrite && attempt?.done === true && !attempt.success,
    mayPause: mayWrite && attempt?.done === false && !attempt.cancelRequested,
    mayKill: mayWrite && attempt?.done === false && (!attempt.cancelRequested || cleaning),
  };
}
