import { useInfiniteQuery } from "@tanstack/react-query";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Empty, Loading } from "../parts/feedback";
import css from "./admin.module.css";
import { readSites } from "./queries";

/** Unfinished attempts are counted up to this number. */
const counted = 1000;

/** The sites of the server. Sites have numbers and are isolated from each other. */
export function Sites({ onTokens }: { onTokens: (site: string) => void }) {
  const query = useInfiniteQuery({
    queryKey: ["sites"],
    queryFn: ({ pageParam, signal }) => readSites(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    staleTime: 0,
  });
  const sites = query.data?.pages.flatMap((p) => p.sites) ?? [];
  return (
    <>
      {!query.data && <Loading query={query} rows={4} />}
      {query.data && sites.length === 0 && <Empty>No site has projects yet: the first push creates a site.</Empty>}
      {sites.length > 0 && (
        <table className={css.table}>
          <thead>
            <tr>
              <th>Site</th>
              <th>Projects</th>
              <th>Active attempts</th>
              <th>Tokens</th>
              <th aria-label="Actions" />
            </tr>
          </thead>
          <tbody>
            {sites.map((s) => (
              <tr key={s.id}>
                <th scope="row">{s.id}</th>
                <td data-label="Projects">{s.projects.toLocaleString("en")}</td>
                <td data-label="Active attempts">{s.attempts < counted ? s.attempts : `${counted.toLocaleString("en")} or more`}</td>
                <td data-label="Tokens">{s.tokens ?? "–"}</td>
                <td>
                  <Button onClick={() => onTokens(s.id)} aria-label={`Tokens of site ${s.id}`} data-row>
                    Tokens
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {query.data && query.error && <Loading query={query} />}
      {query.hasNextPage && (
        <div className={css.more}>
          <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
      <div className={css.foot}>
        <CommandLine line={commands.sites()} />
      </div>
    </>
  );
}
