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

/** Asks for the revision of a retry, and starts it. Tasks that succeeded are skipped. */
export function RetryDialog({ attempt: id, onClose }: { attempt: string; onClose: () => void }) {
  const query = useQuery(attemptQuery(id));
  return (
    <Dialog open onClose={onClose} title="Retry failed tasks">
      {query.data ? <RetryForm attempt={query.data} onClose={onClose} /> : <Loading query={query} rows={3} />}
    </Dialog>
  );
}

function RetryForm({ attempt, onClose }: { attempt: Attempt; onClose: () => void }) {
  const [newest, setNewest] = useState(true);
  const [another] = useState(attemptName); // one name for all requests: a lost response does not start a second attempt
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
        of <SessionTime text={attempt.sessionTime} />. Tasks that succeeded are skipped; all other tasks run.
      </p>
      <fieldset className={css.choice}>
        <legend>Revision</legend>
        <label>
          <input type="radio" name={name} checked={newest} onChange={() => setNewest(true)} />
          <span>
            Latest revision <small>includes later fixes</small>
          </span>
        </label>
        <label>
          <input type="radio" name={name} checked={!newest} disabled={attempt.workflow.id === null} onChange={() => setNewest(false)} />
          <span>
            Revision of this attempt <small>{stored.data?.revision}</small>
          </span>
        </label>
      </fieldset>
      <CommandLine line={commands.retryFailed(attempt.id, newest)} />
      {start.error && <Failure error={start.error} />}
      <DialogFoot>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="main" type="submit" disabled={start.isPending}>
          Retry failed
        </Button>
      </DialogFoot>
    </form>
  );
}

function killWords(again: boolean, running: number): string {
  if (again) return "This attempt was already killed. Its _cancel and _finally tasks, which are still running, will be stopped.";
  if (running === 0) return "No task is running. No other task will start.";
  return `${running === 1 ? "One running task will be stopped." : `${running} running tasks will be stopped.`} No other task will start.`;
}

/** Asks for confirmation before an attempt is killed, which stops running tasks. */
export function KillDialog({ attempt, running, onClose }: { attempt: Attempt; running: number; onClose: () => void }) {
  const queries = useQueryClient();
  const kill = useMutation({
    mutationFn: () =>
      answered(client.POST("/api/attempts/{id}/kill", { params: { path: { id: pathId(attempt.id) } }, body: {} })),
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
        <Button onClick={onClose}>Keep running</Button>
        <Button look="danger" disabled={kill.isPending} onClick={() => kill.mutate()}>
          Kill
        </Button>
      </DialogFoot>
    </Dialog>
  );
}

const asked = (attempt: string) => ({ params: { path: { id: pathId(attempt) } } });

/** Asks for confirmation before an attempt is paused: no new task starts until it is resumed. */
export function PauseAttempt({ attempt, onClose }: { attempt: Attempt; onClose: () => void }) {
  return (
    <PauseDialog
      title="Pause this attempt"
      what="Running tasks finish. No other task starts until you resume the attempt."
      line={commands.pause(attempt.id)}
      send={(reason) => answered(client.POST("/api/attempts/{id}/pause", { ...asked(attempt.id), body: { reason } }))}
      shown={["attempt", attempt.id]}
      onClose={onClose}
    />
  );
}

/** Resumes a paused attempt. */
export function UnpauseAttempt({ attempt }: { attempt: Attempt }) {
  return <UnpauseButton send={() => answered(client.POST("/api/attempts/{id}/unpause", { ...asked(attempt.id), body: {} }))} shown={["attempt", attempt.id]} />;
}

/** The actions that are possible now. cleaning: cleanup tasks that a first kill spares are running. */
export function useActions(attempt: Attempt | undefined, cleaning = false) {
  const mayWrite = useRight("write");
  return {
    mayRetry: mayWrite && attempt?.done === true && !attempt.success,
    mayPause: mayWrite && attempt?.done === false && !attempt.cancelRequested,
    mayKill: mayWrite && attempt?.done === false && (!attempt.cancelRequested || cleaning),
  };
}
