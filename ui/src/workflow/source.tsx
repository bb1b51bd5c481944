import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answered, client, pathId } from "../api/client";
import { useRight } from "../api/session";
import { Empty, Loading } from "../parts/feedback";
import type { Workflow } from "./queries";
import css from "./source.module.css";

const textQuery = (project: string, path: string, revision: string) =>
  queryOptions({
    queryKey: ["project", project, "file", path, revision],
    queryFn: ({ signal }) => answered(client.GET("/api/x/projects/{id}/files/{path}", { params: { path: { id: pathId(project), path }, query: { revision } }, signal })),
    staleTime: Infinity, // a revision never changes
  });

/** The file of a workflow, as it was pushed. */
export function SourcePanel({ workflow }: { workflow: Workflow }) {
  const path = `${workflow.name}.dig`;
  const mayPush = useRight("push");
  const query = useQuery(textQuery(workflow.project.id, path, workflow.revision));
  if (!query.data) return <Loading query={query} rows={10} height={20} />;
  if (query.data.text === null) return <Empty>{path} is too large to be shown, or is no text.</Empty>;
  const lines = query.data.text.replace(/\n$/, "").split("\n");
  return (
    <figure className={css.source}>
      <figcaption>
        <code>{path}</code>
        <small>revision {workflow.revision}</small>
        <Link to="/projects/edit/$id" params={{ id: workflow.project.id }} search={{ file: path }}>
          {mayPush ? "Edit" : "All files"}
        </Link>
      </figcaption>
      <pre tabIndex={0}>
        {lines.map((line, i) => (
          <span key={i} id={`L${i + 1}`}>
            {line}
            {"\n"}
          </span>
        ))}
      </pre>
    </figure>
  );
}
