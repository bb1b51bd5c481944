import { queryOptions, useQuery } from "@tanstack/react-query";
import { pageHeader, refusalOf, unreachable } from "./client";

/** The signed-in user, their rights, and properties of the server. */
export type Session = {
  authenticated: boolean;
  methods: ("token" | "basic" | "oidc")[];
  oidc: { name: string; url: string } | null;
  user: string | null;
  /** Null if the server requires no sign-in. */
  role: "metrics" | "viewer" | "operator" | "developer" | "admin" | "owner" | null;
  /** Why signing in with the provider failed, after the browser returned; shown once. */
  problem: string | null;
  rights: Record<string, boolean>;
  timezone: string | null;
  site: string | null;
  live: "stream" | "poll";
  aws: boolean;
  version: string;
};

/** The session on a server without sign-in: every caller has all rights that the server grants. */
const open: Session = {
  authenticated: true,
  methods: [],
  oidc: null,
  user: null,
  role: null,
  problem: null,
  rights: { read: true, write: true, push: true, admin: true, owner: true },
  timezone: null,
  site: null,
  live: "stream",
  aws: false,
  version: "",
};

const path = "/api/x/session";

async function read(): Promise<Session> {
  const response = await ask("GET");
  if (response.status === 404) return open;
  if (!response.ok) throw await refusalOf(response);
  return { ...open, ...((await response.json()) as Partial<Session>) };
}

async function ask(method: string, body?: object): Promise<Response> {
  try {
    return await fetch(path, {
      method,
      headers: { ...pageHeader, ...(body ? { "Content-Type": "application/json" } : {}) },
      body: body ? JSON.stringify(body) : null,
    });
  } catch (error) {
    throw unreachable(error);
  }
}

/** Signs in with a token, or with user and password. The server sets a cookie that scripts cannot read. */
export async function signIn(credentials: { token: string } | { user: string; password: string }): Promise<Session> {
  const response = await ask("POST", credentials);
  if (!response.ok) throw await refusalOf(response);
  return { ...open, ...((await response.json()) as Partial<Session>) };
}

/** Ends the session in this browser. */
export async function signOut(): Promise<void> {
  const response = await ask("DELETE");
  if (!response.ok) throw await refusalOf(response);
}

export const sessionQuery = queryOptions({ queryKey: ["session"], queryFn: read, staleTime: 5 * 60_000 });

/** The session. Components below the sign-in gate always have one. */
export function useSession(): Session {
  return useQuery(sessionQuery).data ?? open;
}

/** Reports whether the user has a right: actions that the server would reject are hidden or explained. */
export function useRight(right: "write" | "push" | "admin"): boolean {
  return useSession().rights[right] === true;
}
