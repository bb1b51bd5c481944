import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { type Followed, historyAfter } from "../live/follow";
import type { Change } from "../live/outline";

export type Recorded = { changes: readonly Change[] | null; error: unknown; refetch: () => unknown };

/**
 * The whole history of an attempt, entry by entry, loaded on request: the entries read from the server plus those that the
 * follower has received since. Null until it is loaded. Entries that were already read are not read again.
 */
export function useHistory(attempt: string, { told, round, status }: Followed, wanted: boolean): Recorded {
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    // Read after the follower has started, each time that it starts: otherwise an entry between the two would be missed.
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

/** Merges two parts of a history without duplicates. */
export function joined(read: readonly Change[], told: readonly Change[]): Change[] {
  const last = read.at(-1)?.seq ?? 0;
  return [...read, ...told.filter((change) => change.seq > last)];
}
