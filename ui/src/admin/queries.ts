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

export const setSecret = (project: string, key: string, value: string) =>
  answered(client.PUT("/api/projects/{id}/secrets/{key}", { params: { path: { id: pathId(project), key } }, body: { value } }));

export const deleteSecret = (project: string, key: string) => answered(client.DELETE("/api/projects/{id}/secrets/{key}", { params: { path: { id: pathId(project), key } } }));

/** The records of the audit log below an id, newest first; a page that is not full is the last one. */
export async function readAudit(before: string | null, signal: AbortSignal) {
  const query = { page_size: auditPage, ...(before === null ? {} : { last_id: pathId(before) }) };
  const { audits } = await answered(client.GET("/api/audit", { params: { query }, signal }));
  return { audits, next: audits.length < auditPage ? null : audits.at(-1)!.id };
}

export const redrive = () => answered(client.POST("/api/redrive", { headers: { "Content-Type": "application/json" } }));
