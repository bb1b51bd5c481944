import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { type Attempt, answered, client, pathId, type Schemas } from "../api/client";
import { shownName, type Task } from "../live/outline";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Dialog, DialogFoot } from "../parts/dialog";
import { Failure, Loading } from "../parts/feedback";
import css from "./actions.module.css";
import { attemptName } from "./name";

/** The ways to rerun part of an attempt, relative to one of its tasks. */
type Part = "only" | "from" | "until" | "mark";

/** The available parts: later tasks can run only if all earlier tasks succeeded, that is, if the task was reached; only failed attempts can continue without a task. */
const partsOf = (success: boolean, reached: boolean): Part[] => (["only", "from", "until", "mark"] as const).filter((part) => (part === "from" ? reached : part !== "mark" || !success));

const titles: Record<Part, [title: string, more: string]> = {
  only: ["Only this task", "all other tasks count as succeeded and keep their results"],
  from: ["This task and all later tasks", "earlier tasks are skipped"],
  until: ["Up to this task", "including earlier tasks that did not succeed; later tasks are skipped"],
  mark: ["All failed tasks except this one", "it counts as succeeded without running, because its work was done manually or is not needed"],
};

/** The request for a part. After a success, the tasks that lead to the task run again. */
function rerunOf(part: Part, task: string, success: boolean, newest: boolean): Omit<Schemas["RerunRequest"], "dryRun"> {
  const revision = newest ? "" : null;
  if (part === "only") return { mode: "only", only: task, revision };
  if (part === "from") return { mode: "from", from: task, revision };
  if (part === "mark") return { mode: "failed", markSuccess: [task], revision };
  return { mode: success ? "all" : "failed", until: task, revision };
}

const rerun = (attempt: string, body: Schemas["RerunRequest"]) =>
  answered(client.POST("/api/x/attempts/{id}/rerun", { params: { path: { id: pathId(attempt) } }, body })) as Promise<Schemas["Rerun"]>;

type PartDialogProps = { attempt: Attempt; task: Task; onClose: () => void };

/** Asks which part of an attempt to rerun, shows the plan, and starts it as another attempt. */
export function PartDialog({ attempt, task, onClose }: PartDialogProps) {
  const [part, setPart] = useState<Part>("only");
  const [newest, setNewest] = useState(true);
  const [retryAttemptName] = useState(attemptName); // one name for all requests: a lost response does not start a second attempt
  const navigate = useNavigate();
  const queries = useQueryClient();
  const names = [useId(), useId()];
  const request = rerunOf(part, task.full, attempt.success, newest);
  const plan = useQuery({ queryKey: ["plan", attempt.id, request], queryFn: () => rerun(attempt.id, { ...request, dryRun: true }), retry: false });
  const start = useMutation({
    mutationFn: () => rerun(attempt.id, { ...request, retryAttemptName, dryRun: false }),
    onSuccess: async (started) => {
      void queries.invalidateQueries();
      onClose();
      if (started.attempt) await navigate({ to: "/attempts/$id", params: { id: started.attempt.id } });
    },
  });
  return (
    <Dialog open onClose={onClose} title="Rerun part of the attempt">
      <form
        onSubmit={(e) => {
          e.preventDefault();
          start.mutate();
        }}
      >
        <p className={css.what}>
          Starts another attempt of the same session, based on <b>{shownName(task.full)}</b>.
        </p>
        <fieldset className={css.choice}>
          <legend>What runs</legend>
          {partsOf(attempt.success, task.state !== "blocked" && task.state !== "canceled").map((p) => (
            <label key={p}>
              <input type="radio" name={names[0]} checked={part === p} onChange={() => setPart(p)} />
              <span>
                {titles[p][0]} <small>{titles[p][1]}</small>
              </span>
            </label>
          ))}
        </fieldset>
        <fieldset className={css.choice}>
          <legend>Revision</legend>
          <label>
            <input type="radio" name={names[1]} checked={newest} onChange={() => setNewest(true)} />
            <span>Latest revision</span>
          </label>
          <label>
            <input type="radio" name={names[1]} checked={!newest} disabled={attempt.workflow.id === null} onChange={() => setNewest(false)} />
            <span>Revision of this attempt</span>
          </label>
        </fieldset>
        {plan.data?.plan ? <Planned plan={plan.data.plan} /> : !plan.error && <Loading query={plan} rows={2} />}
        <CommandLine line={commands.retryPart(attempt.id, part, task.full, attempt.success, newest)} />
        {(start.error ?? plan.error) && <Failure error={(start.error ?? plan.error)!} />}
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" disabled={start.isPending || !plan.data}>
            Run
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

/** How many tasks of each kind are listed by name. */
const named = 6;

function Planned({ plan }: { plan: NonNullable<Schemas["Rerun"]["plan"]> }) {
  const left = plan.carried.rows.filter((t) => t.skipped);
  const root = plan.workflow.name.length + 1; // the common prefix of all names
  const kept = plan.carried.rows.filter((t) => !t.skipped);
  return (
    <dl className={css.plan} aria-live="polite">
      <Names title="Runs" root={root} list={plan.runs.rows} total={plan.runs.total} />
      <Names title="Results kept" root={root} list={kept} total={kept.length} />
      <Names title="Skipped" root={root} list={left} total={left.length} />
      <Parameters list={kept} />
    </dl>
  );
}

/** The parameters that later tasks get from skipped tasks. */
function Parameters({ list }: { list: { parameters?: string[] }[] }) {
  const names = [...new Set(list.flatMap((t) => t.parameters ?? []))].sort();
  if (names.length === 0) return null;
  return (
    <>
      <dt>With parameters</dt>
      <dd>
        {names.slice(0, named).map((name) => (
          <code key={name}>{name}</code>
        ))}
        {names.length > named && <small>and {names.length - named} more</small>}
      </dd>
    </>
  );
}

type NamesProps = { title: string; root: number; list: { name: string }[]; total: number };

function Names({ title, root, list, total }: NamesProps) {
  if (total === 0) return null;
  return (
    <>
      <dt>{title}</dt>
      <dd>
        {list.slice(0, named).map((t) => (
          <code key={t.name}>{shownName(t.name.slice(root))}</code>
        ))}
        {total > named && <small>and {total - named} more</small>}
      </dd>
    </>
  );
}
