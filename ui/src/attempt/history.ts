import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { type Followed, historyAfter } from "../live/follow";
import type { Change } from "../live/outline";

export type Recorded = { changes: readonly Change[] | null; error: unknown; refetch: () => unknown };

/**
 * The whole history of an attempt, entry by entry, once somebody wants it: what is read of it, and what was told since by the
 * follower. Null until it is there. What was read for an earlier look at the attempt is not read again.
 */
export function useHistory(attempt: string, { told, round, status }: Followed, wanted: boolean): Recorded {
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    // It is read after the follower has begun, for each time that it begins: an entry between the two would be missed.
    queryKey: ["attempt", attempt, "history", round],
    queryFn: async ({ signal }) => {
      const before = queries
        .getQueriesData<Change[]>({ queryKey: ["attempt", attempt, "history"] })
        .reduce<Change[]>((longest, [, known]) => (known && known.length > longest.length ? known : longest), []);
      return [...before, ...(await historyAfter(attempt, before.at(-1)?.seq ?? 0, signal))];
    },
    enabled: wanted && status !== "loading",
    staleTime: Infinity,
  });
  const changes = useMemo(() => (data ? joined(data, told) : null), [data, told, told.length]);
  return { changes, error, refetch };
}

/** Two parts of a history as one: what both have is there once. */
export function joined(read: readonly Change[], told: readonly Change[]): Change[] {
  const last = read.at(-1)?.seq ?? 0;
  return [...read, ...told.filter((change) => change.seq > last)];
}
