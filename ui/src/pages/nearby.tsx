import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import { projectsQuery, projectWorkflowsQuery, searchQuery } from "../api/queries";
import { nearest } from "../parts/near";
import css from "./list.module.css";

type Found = { project: Schemas["IdName"]; workflow: string | null };

/** Suggestions for a mistyped workflow or project. */
export function Nearby({ project, workflow }: { project: string; workflow: string | null }) {
  const number = /^[0-9]+$/.test(project);
  const siblings = useQuery({ ...projectWorkflowsQuery(project), enabled: number && workflow !== null, retry: false });
  const elsewhere = useQuery(searchQuery(workflow ?? (number ? "" : project)));
  const projects = useQuery({ ...projectsQuery, enabled: !number });
  const near: Found[] = [
    ...nearest(workflow ?? "", siblings.data?.workflows ?? [], (w) => w.name).map((w) => ({ project: w.project, workflow: w.name })),
    ...(elsewhere.data?.workflows ?? []).filter((w) => workflow !== null && w.project.id !== project).map((w) => ({ project: w.project, workflow: w.name })),
    ...nearest(number ? "" : project, projects.data?.projects ?? [], (p) => p.name).map((p) => ({ project: { id: p.id, name: p.name }, workflow: null })),
  ];
  if (near.length === 0) return null;
  return (
    <section className={css.panel} aria-labelledby="nearby">
      <h2 id="nearby">Did you mean</h2>
      <ul>
        {near.slice(0, 8).map(({ project, workflow }) => (
          <li key={`${project.id}/${workflow}`}>
            {workflow === null ? (
              <Link to="/projects/$id" params={{ id: project.id }} className={css.row} data-row>
                <span className={css.name}>{project.name}</span>
              </Link>
            ) : (
              <Link to="/projects/$id/$workflow" params={{ id: project.id, workflow }} className={css.row} data-row>
                <span className={css.name}>
                  <span className={css.quiet}>{project.name}/</span>
                  {workflow}
                </span>
              </Link>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
