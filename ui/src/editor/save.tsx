import { useMutation, useQuery } from "@tanstack/react-query";
import { CalendarClock } from "lucide-react";
import { useMemo, useState } from "react";
import { answered, client, Refusal, type Schemas } from "../api/client";
import { projectQuery, projectWorkflowsQuery } from "../api/queries";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Dialog, DialogFoot } from "../parts/dialog";
import { Failure } from "../parts/feedback";
import { push } from "./archive";
import { count, diff, excerpt } from "./diff";
import { type Base, type Change, entriesOf, type File, workflowIn } from "./project";
import css from "./save.module.css";
import { rescheduled, type Rescheduled, schedulesOf } from "./scheduled";
import type { useCheck } from "./useCheck";

type Props = {
  project: { id: string } | null;
  name: string;
  rename: (name: string) => void;
  base: Base;
  files: File[];
  changed: Change[];
  check: ReturnType<typeof useCheck>;
  start: boolean;
  /** The displayed file: its workflow is the default choice for a start. */
  shown: string | null;
  onClose: () => void;
  onSaved: (project: Schemas["Project"], start: string | null) => void;
};

/** A revision name that contains the current time. */
const timely = () => new Date().toISOString().slice(0, 19).replaceAll(":", "-");

/** Shows the changes of a revision, asks for its name, and saves it. */
export function SaveDialog(p: Props) {
  const [revision, setRevision] = useState(timely);
  const [anyway, setAnyway] = useState(false);
  const workflows = p.files.flatMap((f) => workflowIn(f.name) ?? []);
  const [workflow, setWorkflow] = useState((p.shown && workflowIn(p.shown)) || workflows[0] || "");
  const newest = useQuery({ ...projectQuery(p.project?.id ?? ""), enabled: p.project !== null, staleTime: 0 });
  const inForce = useQuery({ ...projectWorkflowsQuery(p.project?.id ?? ""), enabled: p.project !== null, staleTime: 0 });
  const overtaken = newest.data !== undefined && newest.data.revision !== p.base.revision;
  const save = useMutation({
    mutationFn: async () => {
      if (!p.project) await refuseTaken(p.name);
      return push(p.name, revision, entriesOf(p.base, p.files));
    },
    onSuccess: (pushed) => p.onSaved(pushed, p.start ? workflow : null),
  });
  const conflict = save.error instanceof Refusal && save.error.status === 409;
  const errors = p.check.findings.some((f) => f.refused);
  const looked = p.project === null || (newest.data !== undefined && !newest.isFetching && !inForce.isFetching);
  const ready = p.name.trim() !== "" && revision !== "" && p.check.current && !errors && looked && (!overtaken || anyway) && !save.isPending;
  return (
    <Dialog open wide onClose={p.onClose} title={p.start ? "Save and start" : "Save as revision"}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (ready) save.mutate();
        }}
      >
        <div className={css.fields}>
          {!p.project && <Field says="Project" value={p.name} change={p.rename} problem={save.error instanceof Taken ? save.error.message : null} />}
          <Field says="Revision" value={revision} change={setRevision} problem={conflict ? "A revision with this name exists. Choose a different name." : null} />
          {p.start && workflows.length > 1 && (
            <label>
              Start
              <select value={workflow} onChange={(e) => setWorkflow(e.target.value)}>
                {workflows.map((w) => (
                  <option key={w}>{w}</option>
                ))}
              </select>
            </label>
          )}
        </div>
        <Changes changed={p.changed} />
        <Rescheduling list={(p.project === null || inForce.data) && p.check.schedules ? rescheduled(schedulesOf(inForce.data?.workflows ?? []), p.check.schedules) : []} />
        <CommandLine line={commands.push(p.name.trim() || "PROJECT")} />
        {overtaken && (
          <label className={css.overtaken}>
            <input type="checkbox" checked={anyway} onChange={(e) => setAnyway(e.target.checked)} />
            <span>
              Revision {newest.data.revision} was pushed after you started editing. Your version does not include its changes. Save it as the latest revision anyway.
            </span>
          </label>
        )}
        {newest.error && <Failure error={newest.error} />}
        {save.error && !conflict && !(save.error instanceof Taken) && <Failure error={save.error} />}
        <DialogFoot>
          <Button onClick={p.onClose}>Cancel</Button>
          <Button look="main" type="submit" disabled={!ready}>
            {save.isPending ? "Saving…" : "Save"}
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

/** Lists workflows whose schedule changes with this revision. */
function Rescheduling({ list }: { list: Rescheduled[] }) {
  if (list.length === 0) return null;
  return (
    <ul className={css.rescheduled} aria-label="Schedules">
      {list.map(({ workflow, from, to }) => (
        <li key={workflow}>
          <CalendarClock size={14} aria-hidden />
          <span>
            <b>{workflow}</b>{" "}
            {from === null ? (
              <>
                will run on a schedule: <code>{to}</code>
              </>
            ) : to === null ? (
              <>
                will no longer run on its schedule: <code>{from}</code>
              </>
            ) : (
              <>
                gets a different schedule: <code>{from}</code> <span aria-label="becomes">→</span> <code>{to}</code>
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** A different project has the name: pushing would replace its files. */
class Taken extends Error {}

async function refuseTaken(name: string) {
  const { projects } = await answered(client.GET("/api/projects", { params: { query: { name } } }));
  if (projects.length > 0) throw new Taken("A project with this name exists. Choose a different name, or edit that project.");
}

function Field({ says, value, change, problem }: { says: string; value: string; change: (value: string) => void; problem: string | null }) {
  return (
    <label>
      {says}
      <input value={value} spellCheck={false} autoCapitalize="none" required aria-invalid={problem !== null} onChange={(e) => change(e.target.value)} />
      {problem !== null && <small role="alert">{problem}</small>}
    </label>
  );
}

/** The changed lines of each file. */
function Changes({ changed }: { changed: Change[] }) {
  return (
    <ul className={css.changes} aria-label="Changes" tabIndex={0}>
      {changed.map((c) => (
        <Changed key={c.is + c.name} change={c} />
      ))}
    </ul>
  );
}

/** The maximum number of displayed lines of a file. */
const mostLines = 400;

function Changed({ change: c }: { change: Change }) {
  const lines = useMemo(() => diff(c.before, c.after), [c.before, c.after]);
  const shown = useMemo(() => excerpt(lines), [lines]);
  return (
    <li>
      <p>
        <code>
          <bdi>{c.name}</bdi>
        </code>
        <span>
          {c.is}
          {c.from && (
            <>
              , was <bdi>{c.from}</bdi>
            </>
          )}
        </span>
        <span className={css.added}>+{count(lines, "+")}</span>
        <span className={css.removed}>−{count(lines, "-")}</span>
      </p>
      {shown.length > 0 && (
        <pre>
          {shown.slice(0, mostLines).map((l, i) => (
            <span key={i} data-is={l?.is ?? "…"}>
              {l ? `${l.is === "-" ? "−" : l.is} ${l.text}` : "⋯"}
              {"\n"}
            </span>
          ))}
          {shown.length > mostLines && <span data-is="…">{shown.length - mostLines} more lines</span>}
        </pre>
      )}
    </li>
  );
}
