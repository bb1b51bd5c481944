import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useBlocker, useNavigate } from "@tanstack/react-router";
import { Play, Save } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import type { Schemas } from "../api/client";
import { useRight } from "../api/session";
import { Button } from "../parts/button";
import { Dialog, DialogFoot } from "../parts/dialog";
import { Empty, Skeleton } from "../parts/feedback";
import heading from "../parts/heading.module.css";
import list from "../pages/list.module.css";
import { useKeys } from "../shell/keys";
import { useTitle } from "../shell/title";
import { scheduleQuery, workflowOfQuery } from "../workflow/queries";
import { StartDialog } from "../workflow/start";
import type { Place } from "./code";
import { type Draft, dropDraft, keepDraft } from "./drafts";
import { FileList } from "./filelist";
import { PlanView } from "./planview";
import { Problems } from "./problems";
import { type Base, changes, entriesOf, type File, isLink, sizeOf, textNow, untouched, workflowIn, write } from "./project";
import { SaveDialog } from "./save";
import { type Finding, useCheck } from "./useCheck";
import css from "./workbench.module.css";

/** The editor and its language are loaded lazily. */
const Code = lazy(() => import("./code"));

type Project = { id: string; name: string };
type Props = {
  /** null for a new project. */
  project: Project | null;
  base: Base;
  /** The initial files if there is no draft. */
  files: File[];
  draft: Draft | null;
  /** The key of the draft. */
  draftKey: string;
  /** The displayed file and the workflow to start, from the address. */
  file: string | undefined;
  start?: string | undefined;
  /** Changes the address. */
  show: (file: string | undefined, start?: string) => void;
};

/** The files of a project: they are edited, checked during typing, and saved as a revision. */
export function Workbench({ project, draftKey, file: asked, start, show, ...given }: Props) {
  const [base, setBase] = useState(given.base);
  const [files, setFiles] = useState(given.draft?.files ?? given.files);
  const [name, setName] = useState(project?.name ?? given.draft?.project ?? "");
  const [touched, setTouched] = useState(given.draft !== null);
  const [version, setVersion] = useState(0);
  const [place, setPlace] = useState<Place | null>(null);
  const [saving, setSaving] = useState<"save" | "start" | null>(null);
  const [saved, setSaved] = useState<string | null>(null);
  const mayPush = useRight("push");
  const navigate = useNavigate();
  const queries = useQueryClient();
  const changed = useMemo(() => changes(base, files), [base, files]);
  const dirty = touched && changed.length > 0;
  const file = files.find((f) => f.name === asked) ?? files[0];
  const check = useCheck(base, files, file ? workflowIn(file.name) : null);
  const kept = useDraft(draftKey, dirty, touched, useMemo(() => ({ revision: base.revision, project: name, files }), [base, name, files]));
  const errors = check.findings.filter((f) => f.refused).length;
  const savable = mayPush && changed.length > 0;
  useTitle(project ? `Edit ${project.name}` : "New project");

  const replace = (next: File[], shown?: string) => {
    setFiles(next);
    setTouched(true);
    setVersion(version + 1);
    setPlace(null);
    if (shown !== undefined) show(shown);
  };
  const choose = (name: string) => {
    setPlace(null);
    show(name);
  };
  const go = (f: { file: string | null; line: number; column: number }, fix = false) => {
    if (!f.file || !files.some((known) => known.name === f.file)) return;
    setPlace({ file: f.file, line: f.line, column: f.column, fix });
    show(f.file);
  };
  const next = () => {
    const at = place ? check.findings.findIndex((f) => f.file === place.file && f.line === place.line && f.column === place.column) : -1;
    const following = check.findings[(at + 1) % check.findings.length];
    if (following) go(following);
  };
  const discard = () => {
    if (project) replace(untouched(base));
    else replace(given.files);
    setTouched(false);
    void dropDraft(draftKey);
  };
  const done = async (pushed: Schemas["Project"], workflow: string | null) => {
    await dropDraft(draftKey);
    setTouched(false);
    setSaving(null);
    void queries.invalidateQueries({ predicate: (q) => q.queryKey[0] !== editKey });
    if (!project) return navigate({ to: "/projects/edit/$id", params: { id: pushed.id }, search: { file: file?.name, start: workflow ?? undefined }, ignoreBlocker: true });
    const entries = entriesOf(base, files);
    setBase({ revision: pushed.revision, entries });
    setFiles(untouched({ revision: pushed.revision, entries }));
    setSaved(pushed.revision);
    if (workflow) show(file?.name, workflow);
  };
  useKeys([
    { keys: "Ctrl s", does: "Save as a revision", always: true, run: () => savable && errors === 0 && setSaving("save") },
    { keys: "F8", does: "Go to the next problem", always: true, run: next },
    ...(mayPush ? [{ keys: "Ctrl .", does: "Apply the suggested fix in the current line", always: true, run: () => file && setPlace({ file: file.name, line: 0, column: 0, fix: true }) }] : []),
  ]);
  return (
    <div className={css.page}>
      <header className={heading.head}>
        <div>
          <p className={heading.above}>{project ? <Link to="/projects/$id" params={{ id: project.id }}>{project.name}</Link> : <Link to="/projects">Projects</Link>}</p>
          <h1>{project ? "Edit" : "New project"}</h1>
          <p className={heading.facts} role="status">
            {base.revision && (
              <span>
                Revision <code>{base.revision}</code>
              </span>
            )}
            {dirty ? <Kept kept={kept} discard={discard} /> : saved !== null && <span>Saved as revision {saved}</span>}
            {!mayPush && <span>You can read these files. Saving requires the role developer.</span>}
          </p>
        </div>
        {mayPush && (
          <div className={heading.actions} title={errors > 0 ? "Fix the errors before you save. The draft is kept." : undefined}>
            <Button onClick={() => setSaving("save")} disabled={!savable || errors > 0}>
              <Save size={14} aria-hidden /> Save as revision
            </Button>
            <Button look="main" onClick={() => setSaving("start")} disabled={!savable || errors > 0 || !files.some((f) => workflowIn(f.name))}>
              <Play size={14} aria-hidden /> Save and start
            </Button>
          </div>
        )}
      </header>
      <div className={`${list.panel} ${css.body}`}>
        <FileList files={files} changed={changed} findings={check.findings} shown={file?.name ?? null} mayChange={mayPush} isLink={(f) => isLink(base, f)} choose={choose} replace={replace} />
        <Shown file={file ?? null} base={base} version={version} readOnly={!mayPush} findings={check.findings} place={place} onChange={(name, text) => {
          setFiles((before) => write(base, before, name, text));
          setTouched(true);
        }} />
        <aside className={css.aside}>
          <Problems check={check} go={go} mayChange={mayPush} />
          {check.plan && check.plan.workflow === workflowIn(file?.name ?? "") && <PlanView plan={check.plan.tasks} current={check.plan.current} go={go} />}
        </aside>
      </div>
      {saving && <SaveDialog project={project} name={name} rename={(to) => { setName(to); setTouched(true); }} base={base} files={files} changed={changed} check={check} start={saving === "start"} shown={file?.name ?? null} onClose={() => setSaving(null)} onSaved={done} />}
      {project && start && <Starting project={project} revision={base.revision} workflow={start} onClose={() => show(file?.name)} />}
      <Leaving dirty={dirty} kept={kept === "kept"} />
    </div>
  );
}

/** The first part of the query key of an edited project, which is not refetched during editing. */
export const editKey = "edit";

type Keeping = "not yet" | "kept" | "failed";

/** Stores the changes in this browser after each edit, and deletes the draft when nothing is changed. */
function useDraft(key: string, dirty: boolean, touched: boolean, draft: Draft): Keeping {
  const [kept, setKept] = useState<Keeping>("not yet");
  useEffect(() => {
    if (!dirty) {
      if (touched) void dropDraft(key);
      return;
    }
    let newest = true;
    keepDraft(key, draft).then(
      () => newest && setKept("kept"),
      () => newest && setKept("failed"),
    );
    return () => void (newest = false);
  }, [key, dirty, touched, draft]);
  return kept;
}

function Kept({ kept, discard }: { kept: Keeping; discard: () => void }) {
  return (
    <span className={css.kept}>
      {kept === "failed" ? "This browser cannot store a draft: your changes are lost when you leave." : kept === "kept" ? "The draft is stored in this browser." : "Storing the draft…"}
      <button type="button" onClick={discard}>
        Discard
      </button>
    </span>
  );
}

type ShownProps = { file: File | null; base: Base; version: number; readOnly: boolean; findings: Finding[]; place: Place | null; onChange: (name: string, text: string) => void };

/** The text of the selected file, or why it is not shown. */
function Shown({ file, base, findings, ...rest }: ShownProps) {
  const own = useMemo(() => findings.filter((f) => f.file === file?.name && f.line > 0), [findings, file?.name]);
  if (!file) return <div className={css.code}><Empty>This project has no files.</Empty></div>;
  const text = textNow(base, file);
  return (
    <div className={css.code}>
      <h2>{file.name}</h2>
      {text === null ? (
        <Empty>
          {isLink(base, file) ? "This is a link." : `These ${sizeOf(base, file).toLocaleString("en")} bytes are not text, or too large to edit here.`} The file is saved unchanged.
        </Empty>
      ) : (
        <>
          <Suspense fallback={<Skeleton rows={10} height={22} />}>
            <Code name={file.name} text={text} findings={own} {...rest} />
          </Suspense>
          <p className={css.hint}>
            <kbd>Esc</kbd> then <kbd>Tab</kbd> leaves the editor
          </p>
        </>
      )}
    </div>
  );
}

/** Asks for the session in which to start a workflow of the revision that was just saved. */
function Starting({ project, revision, workflow: name, onClose }: { project: Project; revision: string | null; workflow: string; onClose: () => void }) {
  const workflow = useQuery(workflowOfQuery(project.id, name));
  const schedule = useQuery(scheduleQuery(project.id, name));
  if (workflow.data?.revision !== revision || schedule.data === undefined) return null;
  return <StartDialog workflow={workflow.data} schedule={schedule.data} onClose={onClose} />;
}

/** Asks for confirmation before the user leaves unsaved changes. */
function Leaving({ dirty, kept }: { dirty: boolean; kept: boolean }) {
  const blocker = useBlocker({ shouldBlockFn: ({ current, next }) => dirty && current.pathname !== next.pathname, enableBeforeUnload: () => dirty, withResolver: true });
  if (blocker.status !== "blocked") return null;
  return (
    <Dialog open onClose={blocker.reset} title="Leave the editor?">
      <p>{kept ? "Your changes are not saved as a revision. They stay in this browser, and are here when you come back." : "Your changes are not saved, and are lost when you leave."}</p>
      <DialogFoot>
        <Button onClick={blocker.reset}>Stay</Button>
        <Button look="main" onClick={blocker.proceed}>
          Leave
        </Button>
      </DialogFoot>
    </Dialog>
  );
}
