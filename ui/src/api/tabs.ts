import type { MutationMeta, Query, QueryClient } from "@tanstack/react-query";
import { sessionQuery } from "./session";

/** Messages between pages of this browser: data changed, or a user signed in or out. They contain no details. */
type News = "changed" | "session";

declare module "@tanstack/react-query" {
  interface Register {
    /** `reads`: the mutation changes nothing on the server, so other pages need no message. */
    mutationMeta: { reads?: boolean };
  }
}

const channel = new BroadcastChannel("zerodag");
const tell = (news: News) => channel.postMessage(news);

/** Notifies the other pages that a user signed in or out. */
export const tellSession = () => tell("session");

/** Notifies the other pages of the changes of a call. */
export const tellChange = (meta: MutationMeta | undefined) => meta?.reads || tell("changed");

/** Does not refetch projects that are being edited, and refetches the session only if it changed. */
const kept = (query: Query) => query.queryKey[0] === "edit" || query.queryKey[0] === sessionQuery.queryKey[0];

/** Refetches changed data: immediately if the page is visible, otherwise as soon as it becomes visible. */
export function hearOtherTabs(queries: QueryClient): () => void {
  const hear = (event: MessageEvent<News>) => {
    if (event.data === "session") void queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
    else void queries.invalidateQueries({ predicate: (q) => !kept(q), refetchType: document.visibilityState === "hidden" ? "none" : "active" });
  };
  channel.addEventListener("message", hear);
  return () => channel.removeEventListener("message", hear);
}
