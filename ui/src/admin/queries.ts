import { queryOptions } from "@tanstack/react-query";
import { answered, client, pathId, type Schemas } from "../api/client";

export type Token = Schemas["Token"];
export type Role = Token["role"];

/** From the least to the most that a caller may do. */
export const roles: Role[] = ["viewer", "operator", "admin", "owner"];

/** How many records of the audit log a page of it has. */
const auditPage = 50;

/** The site as the API takes it; null is the caller's own. */
const siteOf = (site: string | null) => (site === null ? {} : { site: Number(site) });

export const tokensQuery = (site: string | null) =>
  queryOptions({
    queryKey: ["tokens", site],
    queryFn: ({ signal }) => answered(client.GET("/api/tokens", { params: { query: siteOf(site) }, signal })),
  });

export const makeToken = (name: string, role: Role, site: string | null) => answered(client.POST("/api/tokens", { body: { name, role, ...siteOf(site) } }));

export const revokeToken = (id: string, site: string | null) => answered(client.DELETE("/api/tokens/{id}", { params: { path: { id: pathId(id) }, query: siteOf(site) } }));

export const secretsQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "secrets"],
    queryFn: ({ signal }) => answered(client.GET("/api/projects/{id}/secrets", { params: { path: { id: pathId(project) } }, signal })),
  });

/** Drops the line end of a single line, which was pasted with it. Text of several lines, such as a PEM key, stays as it is. */
export const secretLine = (value: string) => value.replace(/^([^\r\n]*)\r?\n$/, "$1");

export const setSecret = (project: string, key: string, value: string) =>
  answered(client.PUT("/api/projects/{id}/secrets/{key}", { params: { path: { id: pathId(project), key } }, body: { value: secretLine(value) } }));

export const deleteSecret = (project: string, key: string) => answered(client.DELETE("/api/projects/{id}/secrets/{key}", { params: { path: { id: pathId(project), key } } }));

/** The records of the audit log below an id, newest first; a page that is not full is the last one. */
export async function readAudit(before: string | null, signal: AbortSignal) {
  const query = { page_size: auditPage, ...(before === null ? {} : { last_id: pathId(before) }) };
  const { audits } = await answered(client.GET("/api/audit", { params: { query }, signal }));
  return { audits, next: audits.length < auditPage ? null : audits.at(-1)!.id };
}

export const redrive = () => answered(client.POST("/api/redrive", { headers: { "Content-Type": "application/json" } }));

export const redriveOne = (letter: string) => answered(client.POST("/api/x/admin/dead-letters/{letter}/redrive", { params: { path: { letter } } }));

export type Letter = Schemas["DeadLetter"];
export type LetterBody = Schemas["DeadLetterBody"];

/** How many messages of each queue are looked at, which nobody else sees for that moment. */
const lettersPage = 50;

/** A look is asked for by people only: it is not repeated by itself. */
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

/** How many messages a page of a queue has. */
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

/** How many pools a page has. */
const poolsPage = 100;

/** The pools above an id; a page that is not full is the last one. */
export async function readPools(after: string | null, signal: AbortSignal) {
  const query = { page_size: poolsPage, ...(after === null ? {} : { last_id: pathId(after) }) };
  const { pools } = await answered(client.GET("/api/pools", { params: { query }, signal }));
  return { pools, next: pools.length < poolsPage ? null : pools.at(-1)!.id };
}

const at = (name: string, project: string | null) => ({ path: { name }, query: project === null ? {} : { project } });
const atPool = (pool: Pool) => at(pool.name, pool.project?.name ?? null);

/** Who has slots of a pool, and who waits. */
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
  answered(client.POST(held ? "/api/pools/{name}/hold" : "/api/pools/{name}/release", { params: atPool(pool), headers: { "Content-Type": "application/json" } }));
