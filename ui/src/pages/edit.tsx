import { queryOptions, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback } from "react";
import { answered, client, pathId } from "../api/client";
import { useSession } from "../api/session";
import { readArchive } from "../editor/archive";
import { draftKey, dropDraft, readDraft } from "../editor/drafts";
import { untouched } from "../editor/project";
import { editKey, Workbench } from "../editor/workbench";
import { Button } from "../parts/button";
import { Loading } from "../parts/feedback";
import css from "./list.module.css";

const route = getRouteApi("/projects/edit/$id");

/** A project with the files of the revision of a draft, or of the latest revision. */
const editQuery = (id: string, key: string) =>
  queryOptions({
    queryKey: [editKey, id, key],
    queryFn: async ({ signal }) => {
      const project = await answered(client.GET("/api/projects/{id}", { params: { path: { id: pathId(id) } }, signal }));
      const draft = await readDraft(key);
      const revision = draft?.revision ?? project.revision;
      return { project, draft, base: { revision, entries: await readArchive(id, revision, signal) } };
    },
    staleTime: Infinity,
    gcTime: 0,
  });

/** The files of a project in an editor. */
export default function Edit() {
  const { id } = route.useParams();
  const { file, start } = route.useSearch();
  const navigate = route.useNavigate();
  const key = draftKey(useSession(), id);
  const query = useQuery(editQuery(id, key));
  const show = useCallback((file: string | undefined, start?: string) => void navigate({ search: { file, start }, replace: true }), [navigate]);
  if (query.data) return <Workbench key={id} {...query.data} files={untouched(query.data.base)} draftKey={key} file={file} start={start} show={show} />;
  return (
    <div className={css.page}>
      <Loading query={query} rows={10} height={28} />
      {query.error && (
        <Button onClick={() => void dropDraft(key).then(() => query.refetch())}>Discard my draft and try again</Button>
      )}
    </div>
  );
}
