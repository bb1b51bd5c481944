import { queryOptions } from "@tanstack/react-query";
import { answered, client, isMissing, pathId } from "./client";

/** How often the home page is refreshed, in milliseconds: ten seconds while nothing runs are six requests a minute. */
const calm = 10_000;
const busy = 3_000;

/** The overview: failures since a time, late, running and upcoming sessions. */
export const overviewQuery = (seen: number | null) =>
  queryOptions({
    queryKey: ["overview", seen],
    queryFn: ({ signal }) => answered(client.GET("/api/x/overview", { params: { query: seen === null ? {} : { seen } }, signal })),
    refetchInterval: (query) => ((query.state.data?.running.total ?? 0) > 0 ? busy : calm),
    placeholderData: (before) => before,
  });

export type SessionFilter = { project?: string | undefined; workflow?: string | undefined; state?: string | undefined; q?: string | undefined };

/** The page size of the list of sessions. */
const sessionsPage = 50;

/** Parses a search for sessions: words such as tag:daily and label:team=sales, and part of a name or a label. */
export function wordsOf(typed: string | undefined) {
  const words = (typed ?? "").split(/\s+/).filter(Boolean);
  const of = (kind: string) => words.filter((w) => w.startsWith(kind) && w.length > kind.length).map((w) => w.slice(kind.length));
  const label = of("label:").filter((l) => /^[^=]+=./.test(l)); // one that is still being typed narrows nothing down
  const q = words.filter((w) => !/^(tag|label):/.test(w)).join(" ");
  return { q: q || undefined, tag: of("tag:"), label };
}

export async function findSessions(filter: SessionFilter, before: string | null, signal: AbortSignal) {
  const query = { ...filter, ...wordsOf(filter.q), count: sessionsPage, ...(before === null ? {} : { before: Number(before) }) };
  return answered(client.GET("/api/x/sessions", { params: { query }, signal }));
}

export const projectsQuery = queryOptions({
  queryKey: ["projects"],
  queryFn: ({ signal }) => answered(client.GET("/api/projects", { signal })),
});

export const projectQuery = (id: string) =>
  queryOptions({ queryKey: ["project", id], queryFn: ({ signal }) => answered(client.GET("/api/projects/{id}", { params: { path: { id: pathId(id) } }, signal })) });

export const projectWorkflowsQuery = (id: string) =>
  queryOptions({
    queryKey: ["project", id, "workflows"],
    queryFn: ({ signal }) => answered(client.GET("/api/projects/{id}/workflows", { params: { path: { id: pathId(id) } }, signal })),
  });

export const projectSchedulesQuery = (id: string) =>
  queryOptions({
    queryKey: ["project", id, "schedules"],
    queryFn: ({ signal }) => answered(client.GET("/api/projects/{id}/schedules", { params: { path: { id: pathId(id) } }, signal })),
  });

export const attemptQuery = (id: string) =>
  queryOptions({ queryKey: ["attempt", id], queryFn: ({ signal }) => answered(client.GET("/api/attempts/{id}", { params: { path: { id: pathId(id) } }, signal })) });

export const sessionAttemptsQuery = (session: string) =>
  queryOptions({
    queryKey: ["session", session, "attempts"],
    queryFn: ({ signal }) => answered(client.GET("/api/sessions/{id}/attempts", { params: { path: { id: pathId(session) } }, signal })),
  });

export const workflowQuery = (id: string) =>
  queryOptions({
    queryKey: ["workflow", id],
    queryFn: ({ signal }) => answered(client.GET("/api/workflows/{id}", { params: { path: { id: pathId(id) } }, signal })),
    staleTime: Infinity, // a definition of a revision never changes
  });

export const comparisonQuery = (attempt: string) =>
  queryOptions({
    queryKey: ["attempt", attempt, "comparison"],
    queryFn: ({ signal }) => answered(client.GET("/api/x/attempts/{id}/comparison", { params: { path: { id: pathId(attempt) } }, signal })),
    staleTime: Infinity,
  });

/** Finds resources by part of their name or by number; an empty text sends no request. */
export const searchQuery = (q: string) =>
  queryOptions({
    queryKey: ["search", q],
    queryFn: ({ signal }) => answered(client.GET("/api/x/search", { params: { query: { q } }, signal })),
    enabled: q !== "",
  });

/** Why an attempt failed, with the last lines of its log; it never changes after the end of the attempt. */
export const causeQuery = (attempt: string) =>
  queryOptions({
    queryKey: ["attempt", attempt, "cause"],
    queryFn: ({ signal }) => answered(client.GET("/api/x/attempts/{id}/cause", { params: { path: { id: pathId(attempt) } }, signal })),
    staleTime: Infinity,
  });

/** The notifications about an attempt that are not delivered; none if the deployment does not store them. */
export const noticesQuery = (attempt: string) =>
  queryOptions({
    queryKey: ["attempt", attempt, "notices"],
    queryFn: async ({ signal }) => {
      try {
        const { notices } = await answered(client.GET("/api/x/notices", { params: { query: { attempt: pathId(attempt) } }, signal }));
        return notices;
      } catch (error) {
        if (isMissing(error)) return [];
        throw error;
      }
    },
    refetchInterval: (query) => (query.state.data?.length ? 10_000 : false),
  });

export const taskQuery = (attempt: string, task: number, state: string) =>
  queryOptions({
    queryKey: ["attempt", attempt, "task", task, state],
    queryFn: ({ signal }) =>
      answered(client.GET("/api/x/attempts/{id}/tasks/{task_id}", { params: { path: { id: pathId(attempt), task_id: task } }, signal })),
    placeholderData: (before) => (before?.task.id === String(task) ? before : undefined),
  });
