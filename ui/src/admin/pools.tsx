import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { projectsQuery } from "../api/queries";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Dialog, DialogFoot } from "../parts/dialog";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Field } from "../parts/field";
import { Distance } from "../parts/time";
import { TypedDialog } from "../parts/typed";
import { useKeys } from "../shell/keys";
import css from "./admin.module.css";
import { deletePool, holdPool, lineQuery, type Pool, readPools, setPool } from "./queries";

/** The maximum number of slots of a pool. */
const mostSlots = 1000;

type Asked = { act: "set" | "delete"; pool: Pool } | { act: "make" } | null;

/** The pools, with the tasks that occupy their slots and the tasks that wait. */
export function Pools({ open, onOpen }: { open: string | undefined; onOpen: (pool: string | undefined) => void }) {
  const query = useInfiniteQuery({
    queryKey: ["pools"],
    queryFn: ({ pageParam, signal }) => readPools(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    staleTime: 0,
  });
  const [asked, setAsked] = useState<Asked>(null);
  useKeys([{ keys: "n", does: "Create a pool", run: () => setAsked({ act: "make" }) }]);
  const pools = query.data?.pages.flatMap((p) => p.pools) ?? [];
  return (
    <>
      <header className={css.tools}>
        <p>Tasks with <code>_pool</code> run only while they occupy slots of the pool. A held pool grants no slots; tasks that already have slots keep them.</p>
        <Button look="main" onClick={() => setAsked({ act: "make" })}>
          <Plus size={14} aria-hidden /> Create a pool
        </Button>
      </header>
      {!query.data && <Loading query={query} rows={4} />}
      {query.data && pools.length === 0 && <Empty>There are no pools yet.</Empty>}
      {pools.length > 0 && (
        <table className={css.table}>
          <thead>
            <tr>
              <th>Pool</th>
              <th>Scope</th>
              <th>Slots</th>
              <th aria-label="Actions" />
            </tr>
          </thead>
          <tbody>
            {pools.map((p) => (
              <Row key={p.id} pool={p} open={open === p.id} onOpen={() => onOpen(open === p.id ? undefined : p.id)} onAsk={(act) => setAsked({ act, pool: p })} />
            ))}
          </tbody>
        </table>
      )}
      {query.data && query.error && <Loading query={query} />}
      {query.hasNextPage && (
        <div className={css.more}>
          <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
      <div className={css.foot}>
        <CommandLine line={commands.pools()} />
      </div>
      {asked?.act === "make" && <SetDialog known={null} onClose={() => setAsked(null)} />}
      {asked?.act === "set" && <SetDialog known={asked.pool} onClose={() => setAsked(null)} />}
      {asked?.act === "delete" && <DeleteDialog pool={asked.pool} onClose={() => setAsked(null)} />}
    </>
  );
}

type RowProps = { pool: Pool; open: boolean; onOpen: () => void; onAsk: (act: "set" | "delete") => void };

function Row({ pool, open, onOpen, onAsk }: RowProps) {
  const queries = useQueryClient();
  const hold = useMutation({
    mutationFn: () => holdPool(pool, !pool.held),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["pools"] }),
  });
  return (
    <>
      <tr>
        <th scope="row">
          <code>{pool.name}</code>
        </th>
        <td data-label="Scope">{pool.project?.name ?? "site"}</td>
        <td data-label="Slots">
          {pool.slots.toLocaleString("en")}
          {pool.held && " · held"}
        </td>
        <td>
          <span className={css.acts}>
            <Button onClick={onOpen} aria-expanded={open} aria-label={`Queue of ${pool.name}`} data-row>
              Queue
            </Button>
            <Button onClick={() => hold.mutate()} disabled={hold.isPending} aria-label={`${pool.held ? "Release" : "Hold"} ${pool.name}`}>
              {pool.held ? "Release" : "Hold"}
            </Button>
            <Button onClick={() => onAsk("set")} aria-label={`Slots of ${pool.name}`}>
              Slots…
            </Button>
            <Button onClick={() => onAsk("delete")} aria-label={`Delete ${pool.name}`}>
              Delete…
            </Button>
          </span>
          {hold.error && <Failure error={hold.error} />}
        </td>
      </tr>
      {open && (
        <tr>
          <td colSpan={4}>
            <Line pool={pool} />
          </td>
        </tr>
      )}
    </>
  );
}

function Line({ pool }: { pool: Pool }) {
  const query = useQuery(lineQuery(pool));
  if (!query.data) return <Loading query={query} rows={2} />;
  const { taken, waiting, all } = query.data;
  return (
    <>
      <h3 className={css.part}>
        {taken.length.toLocaleString("en")} of {query.data.slots.toLocaleString("en")} slots in use
      </h3>
      <ul>
        {taken.map((s) => (
          <li key={s.slot}>
            <TaskOf attempt={s.attemptId} task={s.taskId} />, taken <Distance at={Date.parse(s.since)} />
          </li>
        ))}
      </ul>
      <h3 className={css.part}>{waiting.length === 0 ? "No tasks are waiting" : `${waiting.length.toLocaleString("en")}${all ? "" : " or more"} waiting, first in line first`}</h3>
      <ol>
        {waiting.map((w) => (
          <li key={`${w.attemptId} ${w.taskId}`}>
            <TaskOf attempt={w.attemptId} task={w.taskId} />
            {w.slots > 1 && `, for ${w.slots} slots`}, requested <Distance at={Date.parse(w.since)} />
          </li>
        ))}
      </ol>
    </>
  );
}

/** A task that occupies slots or waits; 0 is the whole attempt. */
function TaskOf({ attempt, task }: { attempt: string; task: string }) {
  return (
    <Link className={css.inline} to="/attempts/$id" params={{ id: attempt }} search={task === "0" ? {} : { task }}>
      {task === "0" ? `attempt ${attempt}` : `task ${task} of attempt ${attempt}`}
    </Link>
  );
}

/** Creates a pool, or changes its number of slots. */
function SetDialog({ known, onClose }: { known: Pool | null; onClose: () => void }) {
  const queries = useQueryClient();
  const projects = useQuery(projectsQuery);
  const [name, setName] = useState(known?.name ?? "");
  const [project, setProject] = useState(known?.project?.name ?? "");
  const [slots, setSlots] = useState(String(known?.slots ?? 1));
  const set = useMutation({
    mutationFn: () => setPool(name, project || null, Number(slots)),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["pools"] });
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title={known ? `Slots of ${known.name}` : "Create a pool"}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          set.mutate();
        }}
      >
        {!known && (
          <>
            <Field label="Name" hint="Letters, digits and - _ . as used in `_pool` of a task.">
              {(input) => <input {...input} value={name} required maxLength={100} onChange={(e) => setName(e.target.value)} autoComplete="off" spellCheck={false} autoCapitalize="off" />}
            </Field>
            <Field label="Scope" hint="A pool of a project takes precedence over a pool of the site with the same name.">
              {(input) => (
                <select {...input} value={project} onChange={(e) => setProject(e.target.value)}>
                  <option value="">site: shared by all projects</option>
                  {(projects.data?.projects ?? []).map((p) => (
                    <option key={p.id}>{p.name}</option>
                  ))}
                </select>
              )}
            </Field>
          </>
        )}
        <Field label="Slots" hint="If you reduce the number, tasks that already have slots keep them.">
          {(input) => <input {...input} type="number" min={1} max={mostSlots} value={slots} required onChange={(e) => setSlots(e.target.value)} />}
        </Field>
        <CommandLine line={commands.setPool(name || "NAME", Number(slots), project || null)} />
        {set.error && <Failure error={set.error} />}
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" disabled={name === "" || slots === "" || set.isPending}>
            {known ? "Save" : "Create"}
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

function DeleteDialog({ pool, onClose }: { pool: Pool; onClose: () => void }) {
  const queries = useQueryClient();
  const gone = useMutation({
    mutationFn: () => deletePool(pool),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["pools"] });
      onClose();
    },
  });
  return (
    <TypedDialog title="Delete a pool" name={pool.name} action="Delete" line={commands.deletePool(pool.name, pool.project?.name ?? null)} change={gone} onClose={onClose}>
      <p>
        Tasks that request <b>{pool.name}</b> will fail. A pool cannot be deleted while tasks occupy its slots or wait for them.
      </p>
    </TypedDialog>
  );
}
