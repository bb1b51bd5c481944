import type { MutationMeta, Query, QueryClient } from "@tanstack/react-query";
import { sessionQuery } from "./session";

/** What a page tells the others of this browser: that something was changed, or that somebody signed in or out. It never says what, or who. */
type News = "changed" | "session";

declare module "@tanstack/react-query" {
  interface Register {
    /** `reads`: it changes nothing on the server, so that no other page has to hear of it. */
    mutationMeta: { reads?: boolean };
  }
}

const channel = new BroadcastChannel("zerodag");
const tell = (news: News) => channel.postMessage(news);

/** Tells the other pages that somebody has signed in or out in this one. */
export const tellSession = () => tell("session");

/** Tells the other pages what a call has changed. */
export const tellChange = (meta: MutationMeta | undefined) => meta?.reads || tell("changed");

/** What somebody edits is not read anew below their hands, and who is signed in is asked for only when that has changed. */
const kept = (query: Query) => query.queryKey[0] === "edit" || query.queryKey[0] === sessionQuery.queryKey[0];

/** Has pages that nobody looks at ask for what changed once somebody does, and the one in front of somebody at once. */
export function hearOtherTabs(queries: QueryClient): () => void {
  const hear = (event: MessageEvent<News>) => {
    if (event.data === "session") void queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
    else void queries.invalidateQueries({ predicate: (q) => !kept(q), refetchType: document.visibilityState === "hidden" ? "none" : "active" });
  };
  channel.addEventListener("message", hear);
  return () => channel.removeEventListener("message", hear);
}
