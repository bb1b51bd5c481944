import { useInfiniteQuery } from "@tanstack/react-query";
import { Button } from "../parts/button";
import { Empty, Loading } from "../parts/feedback";
import { Time } from "../parts/time";
import css from "./admin.module.css";
import { readAudit } from "./queries";

/** The audit log, newest first, including rejected requests. */
export function Audit() {
  const query = useInfiniteQuery({
    queryKey: ["audit"],
    queryFn: ({ pageParam, signal }) => readAudit(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    staleTime: 0,
  });
  const rows = query.data?.pages.flatMap((p) => p.audits) ?? [];
  if (!query.data) return <Loading query={query} rows={8} />;
  if (rows.length === 0) return <Empty>No changes yet.</Empty>;
  return (
    <>
      <table className={css.table}>
        <thead>
          <tr>
            <th>When</th>
            <th>Who</th>
            <th>Action</th>
            <th>Target</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((r) => (
            <tr key={r.id} data-refused={r.refused || undefined}>
              <td data-label="When">
                <Time at={Date.parse(r.at)} form="full" />
              </td>
              <td data-label="Who" title={[r.with, r.address].filter((x) => x !== null).join(", from ") || undefined}>
                {r.who || "anonymous"}
              </td>
              <th scope="row">{r.action}</th>
              <td data-label="Target">
                {r.target}
                {r.detail !== null && <small>{r.detail}</small>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {query.error && <Loading query={query} />}
      {query.hasNextPage && (
        <div className={css.more}>
          <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show earlier changes
          </Button>
        </div>
      )}
    </>
  );
}
