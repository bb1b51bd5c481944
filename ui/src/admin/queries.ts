import { queryOptions } from "@tanstack/react-query";
import { answered, client, pathId, type Schemas } from "../api/client";

export type Token = Schemas["Token"];
export type Role = Token["role"];

/** Roles in ascending order of their rights. */
export const roles: Role[] = ["metrics", "viewer", "operator", "developer", "admin", "owner"];

/** The page size of the audit log. */
const auditPage = 50;

/** The site as the API expects it; null is the caller's site. */
const siteOf = (site: string | null) => (site === null ? {} : { site: Number(site) });

export const tokensQuery = (site: string | null) =>
  queryOptions({
    queryKey: ["tokens", site],
    queryFn: ({ signal }) => answered(client.GET("/api/tokens", { params: { query: siteOf(site) }, signal })),
  });

export const makeToken = (asked: Schemas["TokenRequest"], site: string | null) => answered(client.POST("/api/tokens", { body: { ...asked, ...siteOf(site) } }));

export const revokeToken = (id: string, site: string | null) => answered(client.DELETE("/api/tokens/{id}", { params: { path: { id: pathId(id) }, query: siteOf(site) } }));

export const secretsQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "secrets"],
    queryFn: ({ signal }) => answered(client.GET("/api/projects/{id}/secrets", { params: { path: { id: pathId(project) } }, signal })),
  });

/** Removes the line end of a pasted single line. Text of several lines, such as a PEM key, is unchanged. */
export const secretLine = (value: string) => value.replace(/^([^\r\n]*)\r?\n$/, "$1");

export const setSecret = (project: string, key: string, value: string) =>
  answered(client.PUT("/api/projects/{id}/secrets/{key}", { params: { path: { id: pathId(project), key } }, body: { value: secretLine(value) } }));

export const deleteSecret = (project: string, key: string) => answered(client.DELETE("/api/projects/{id}/secrets/{key}", { params: { path: { id: pathId(project), key } } }));

/** The audit records below an id, newest first; a page that is not full is the last one. */
export async function readAudit(before: string | null, signal: AbortSignal) {
  const query = { page_size: auditPage, ...(before === null ? {} : { last_id: pathId(before) }) };
  const { audits } = await answered(client.GET("/api/audit", { params: { query }, signal }));
  return { audits, next: audits.length < auditPage ? null : audits.at(-1)!.id };
}

export const redrive = () => answered(client.POST("/api/redrive", { body: {} }));

export const redriveOne = (letter: string) => answered(client.POST("/api/x/admin/dead-letters/{letter}/redrive", { params: { path: { letter } }, body: {} }));

export type Letter = Schemas["DeadLetter"];
export type LetterBody = Schemas["DeadLetterBody"];

/** How many messages of each queue are read. They are hidden from other readers for a moment. */
const lettersPage = 50;

/** Runs only on request and is not repeated automatically. */
export const lettersQuery = queryOptions({
  queryKey: ["letters"],
  queryFn: ({ signal }) => answered(client.GET("/api/x/admin/dead-letters", { params: { query: { count: lettersPage } }, signal })),
  staleTime: 0,
  refetchOnWindowFocus: false,
});

export const letterQuery = (letter: string) =>
  queryOptions({
    queryKey: ["letters", letter],
    queryFn: ({ signal }) => answered(client.GET("/api/x/admin/dead-letters/{letter}", { params: { path: { letter } }, signal })),
    refetchOnWindowFocus: false,
  });

export type Queues = Schemas["Queues"];
export type QueueName = Queues["queue"];

/** The page size of a queue. */
const queuePage = 50;

export const readQueue = (queue: QueueName, after: string | null, signal: AbortSignal) =>
  answered(client.GET("/api/x/admin/queue", { params: { query: { queue, count: queuePage, ...(after === null ? {} : { after: pathId(after) }) } }, signal }));

export type Limit = Schemas["Limits"]["limits"][number];

export const limitsQuery = queryOptions({
  queryKey: ["limits"],
  queryFn: ({ signal }) => answered(client.GET("/api/x/admin/limits", { signal })),
  refetchInterval: 15_000,
  staleTime: 0,
});

export const readSites = (after: string | null, signal: AbortSignal) =>
  answered(client.GET("/api/x/admin/sites", { params: { query: after === null ? {} : { after: pathId(after) } }, signal }));

export type Pool = Schemas["Pool"];

/** The page size of the list of pools. */
const poolsPage = 100;

/** The pools above an id; a page that is not full is the last one. */
export async function readPools(after: string | null, signal: AbortSignal) {
  const query = { page_size: poolsPage, ...(after === null ? {} : { last_id: pathId(after) }) };
  const { pools } = await answered(client.GET("/api/pools", { params: { query }, signal }));
  return { pools, next: pools.length < poolsPage ? null : pools.at(-1)!.id };
}

const at = (name: string, project: string | null) => ({ path: { name }, query: project === null ? {} : { project } });
const atPool = (pool: Pool) => at(pool.name, pool.project?.name ?? null);

/** The tasks that occupy slots of a pool, and the tasks that wait. */
export const lineQuery = (pool: Pool) =>
  queryOptions({
    queryKey: ["pools", pool.id, "line"],
    queryFn: ({ signal }) => answered(client.GET("/api/pools/{name}", { params: atPool(pool), signal })),
    refetchInterval: 5_000,
    staleTime: 0,
  });

export const setPool = (name: string, project: string | null, slots: number) => answered(client.PUT("/api/pools/{name}", { params: at(name, project), body: { slots } }));

export const deletePool = (pool: Pool) => answered(client.DELETE("/api/pools/{name}", { params: atPool(pool) }));

export const holdPool = (pool: Pool, held: boolean) =>
  answered(client.POST(held ? "/api/pools/{name}/hold" : "/api/pools/{name}/release", { params: atPool(pool), body: {} }));
