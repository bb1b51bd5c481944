import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback } from "react";
import { projectsQuery } from "../api/queries";
import { useRight } from "../api/session";
import { buttonClass } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Empty, Loading } from "../parts/feedback";
import { Paused } from "../parts/pause";
import { SearchField } from "../parts/search";
import { Distance } from "../parts/time";
import { useTitle } from "../shell/title";
import css from "./list.module.css";

const route = getRouteApi("/projects");

export default function Projects() {
  useTitle("Projects");
  const { q = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(projectsQuery);
  const mayPush = useRight("push");
  const search = useCallback((text: string) => void navigate({ search: { q: text || undefined }, replace: true }), [navigate]);
  const rows = query.data?.projects.filter((p) => p.name.toLowerCase().includes(q.toLowerCase())) ?? [];
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h1>Projects</h1>
        <SearchField value={q} onChange={search} label="Name" />
        {mayPush && (
          <Link to="/projects/new" className={buttonClass("main")}>
            New project
          </Link>
        )}
      </header>
      <div className={css.panel}>
        {!query.data && <Loading query={query} height={48} />}
        {query.data?.projects.length === 0 && (
          <Empty action={<CommandLine line={`${commands.push("hello")} --project hello/`} />}>This server has no projects yet.</Empty>
        )}
        {query.data && query.data.projects.length > 0 && rows.length === 0 && <Empty>No matching projects.</Empty>}
        <ul>
          {rows.map((p) => (
            <li key={p.id}>
              <Link to="/projects/$id" params={{ id: p.id }} className={css.row} data-row>
                <span className={css.name}>{p.name}</span>
                {p.paused && (
                  <span className={`${css.cell} ${css.cut}`} title={p.paused.reason}>
                    <Paused paused={p.paused} />
                  </span>
                )}
                <code className={`${css.cell} ${css.cut}`} title={p.revision}>
                  {p.revision}
                </code>
                <span className={`${css.cell} ${css.right}`}>
                  <Distance at={Date.parse(p.updatedAt)} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
