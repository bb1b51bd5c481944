import { queryOptions } from "@tanstack/react-query";
import { answered, client, pathId, type Schemas } from "../api/client";
import { utcTime } from "./params";

export type Workflow = Schemas["Workflow"];
export type Grid = Schemas["Grid"];
export type Schedule = Schemas["Schedule"];
export type PastDate = Schemas["Dates"]["dates"][number];

/** The number of sessions in a grid, and of tasks that are shown below one parent. */
const columns = 30;
const rows = 200;

/** The latest definition of a workflow. */
export const workflowOfQuery = (project: string, name: string) =>
  queryOptions({
    queryKey: ["project", project, "workflow", name],
    queryFn: ({ signal }) => answered(client.GET("/api/projects/{id}/workflows/{name}", { params: { path: { id: pathId(project), name } }, signal })),
  });

/** The results of the tasks below a parent in the last sessions; null is the workflow itself. */
export const gridQuery = (workflow: string, parent: string | null) =>
  queryOptions({
    queryKey: ["grid", workflow, parent],
    queryFn: ({ signal }) =>
      answered(client.GET("/api/x/workflows/{id}/grid", { params: { path: { id: pathId(workflow) }, query: { columns, rows, ...(parent === null ? {} : { parent }) } }, signal })),
    refetchInterval: (query) => (query.state.data?.columns.some((c) => c.status === "running") ? 3_000 : 30_000),
    placeholderData: (before) => before,
  });

/** The schedule of a workflow, or null. */
export const scheduleQuery = (project: string, workflow: string) =>
  queryOptions({
    queryKey: ["project", project, "schedule", workflow],
    queryFn: async ({ signal }) => {
      const found = await answered(client.GET("/api/projects/{id}/schedules", { params: { path: { id: pathId(project) }, query: { workflow } }, signal }));
      return found.schedules[0] ?? null;
    },
    refetchInterval: 30_000,
  });

export const upcomingQuery = (schedule: string, count: number) =>
  queryOptions({
    queryKey: ["schedule", schedule, "upcoming", count],
    queryFn: ({ signal }) => answered(client.GET("/api/x/schedules/{id}/upcoming", { params: { path: { id: pathId(schedule) }, query: { count } }, signal })),
  });

/** The past times of a schedule with their sessions. `from` and `to` have an offset. */
export const datesQuery = (schedule: string, from: string, to: string | null, count: number) =>
  queryOptions({
    queryKey: ["schedule", schedule, "dates", from, to, count],
    queryFn: ({ signal }) =>
      answered(client.GET("/api/x/schedules/{id}/dates", { params: { path: { id: pathId(schedule) }, query: { from, count, ...(to === null ? {} : { to }) } }, signal })),
    staleTime: 0,
  });

/** How far back to search for the last time of a schedule, in milliseconds; schedules that run every few minutes are found within an hour. */
const lookback = [1, 48, 40 * 24, 400 * 24].map((hours) => hours * 3_600_000);

/** The last session time of a schedule; null if there was none within a year. */
export const lastTimeQuery = (schedule: string) =>
  queryOptions({
    queryKey: ["schedule", schedule, "last"],
    queryFn: async ({ signal }) => {
      for (const back of lookback) {
        const query = { from: utcTime(Date.now() - back), count: 1000 };
        const found = await answered(client.GET("/api/x/schedules/{id}/dates", { params: { path: { id: pathId(schedule) }, query }, signal }));
        const last = found.dates.at(-1);
        if (last) return last.sessionTime;
      }
      return null;
    },
    staleTime: 30_000,
  });

export type Backfill = Schemas["OneBackfill"];

/** The page size of the list of backfills. */
const backfillPage = 20;

/** Reports whether a backfill has not ended. */
export const isOpen = (b: Backfill) => b.finishedAt === null;

/** The backfills of a workflow below an id, newest first; a page that is not full is the last one. */
export async function readBackfills(workflow: Workflow, before: string | null, signal: AbortSignal) {
  const query = { project: workflow.project.name, workflow: workflow.name, page_size: backfillPage, ...(before === null ? {} : { last_id: pathId(before) }) };
  const { backfills } = await answered(client.GET("/api/backfills", { params: { query }, signal }));
  return { backfills, next: backfills.length < backfillPage ? null : backfills.at(-1)!.id };
}


export const holdBackfill = (id: string) => answered(client.POST("/api/backfills/{id}/hold", { params: { path: { id: pathId(id) } }, body: {} }));

export const releaseBackfill = (id: string) => answered(client.POST("/api/backfills/{id}/release", { params: { path: { id: pathId(id) } }, body: {} }));

export const killBackfill = (id: string) => answered(client.POST("/api/backfills/{id}/kill", { params: { path: { id: pathId(id) } }, body: {} }));
