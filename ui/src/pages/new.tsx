import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback } from "react";
import { useSession } from "../api/session";
import { draftKey, readDraft } from "../editor/drafts";
import type { Base, File } from "../editor/project";
import { editKey, Workbench } from "../editor/workbench";

const route = getRouteApi("/projects/new");

const nothing: Base = { revision: null, entries: [] };

/** The initial file of a new project: a small workflow that runs. */
const beginning: File[] = [
  {
    name: "hello.dig",
    of: null,
    text: "zerodag: 1\ntimezone: UTC\n\n+prepare:\n  echo>: the session starts at ${session_time}\n\n+each:\n  _parallel: true\n  for_each>:\n    fruit: [apple, orange]\n  _do:\n    echo>: ${fruit}\n\n+finish:\n  sh>: echo finished\n",
  },
];

/** A project that does not exist yet, in an editor. */
export default function New() {
  const { file } = route.useSearch();
  const navigate = route.useNavigate();
  const key = draftKey(useSession(), null);
  const draft = useQuery({ queryKey: [editKey, key], queryFn: () => readDraft(key), staleTime: Infinity, gcTime: 0 });
  const show = useCallback((file: string | undefined) => void navigate({ search: { file }, replace: true }), [navigate]);
  if (draft.data === undefined) return null;
  return <Workbench project={null} base={nothing} files={beginning} draft={draft.data} draftKey={key} file={file} show={show} />;
}
