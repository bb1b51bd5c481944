import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { useSession } from "../api/session";
import { type Followed, Follower, nothingYet } from "../live/follow";

const none = nothingYet();

/** The current tasks of an attempt, followed until it ends. */
export function useFollower(attempt: string): Followed {
  const live = useSession().live;
  const queries = useQueryClient();
  const [follower, setFollower] = useState<Follower | null>(null);
  useEffect(() => {
    const f = new Follower(attempt, live);
    setFollower(f);
    return () => {
      f.close();
      setFollower(null);
    };
  }, [attempt, live]);
  const followed = useSyncExternalStore(follower?.subscribe ?? never, follower?.snapshot ?? nothing);
  useEffect(() => {
    if (followed.status === "over") void queries.invalidateQueries({ queryKey: ["attempt", attempt], exact: true });
  }, [followed.status, queries, attempt]);
  return followed;
}

const never = () => () => {};
const nothing = () => none;
