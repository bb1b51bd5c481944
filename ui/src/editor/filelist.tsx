import { FilePlus, Pencil, RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import { Button } from "../parts/button";
import { Dialog, DialogFoot } from "../parts/dialog";
import { add, type Change, type File, nameProblem, remove, rename } from "./project";
import type { Finding } from "./useCheck";
import css from "./workbench.module.css";

type Props = {
  files: File[];
  changed: Change[];
  findings: Finding[];
  shown: string | null;
  mayChange: boolean;
  isLink: (file: File) => boolean;
  choose: (name: string) => void;
  /** Sets other files, and shows one of them. */
  replace: (files: File[], shown?: string) => void;
};

/** The files of the project with their changes and errors. */
export function FileList({ files, changed, findings, shown, mayChange, isLink, choose, replace }: Props) {
  const [asking, setAsking] = useState<"add" | "rename" | "remove" | null>(null);
  const file = files.find((f) => f.name === shown);
  const is = new Map(changed.filter((c) => c.is !== "removed").map((c) => [c.name, c.is]));
  const gone = changed.filter((c) => c.is === "removed" && nameProblem(files, c.name) === null);
  const close = () => setAsking(null);
  return (
    <nav className={css.files} aria-label="Files">
      <div className={css.tools}>
        <h2>Files</h2>
        {mayChange && (
          <>
            <button type="button" aria-label="New file" title="New file" onClick={() => setAsking("add")}>
              <FilePlus size={15} aria-hidden />
            </button>
            <button type="button" aria-label="Rename the file" title="Rename the file" disabled={!file || isLink(file)} onClick={() => setAsking("rename")}>
              <Pencil size={15} aria-hidden />
            </button>
            <button type="button" aria-label="Delete the file" title="Delete the file" disabled={!file} onClick={() => setAsking("remove")}>
              <Trash2 size={15} aria-hidden />
            </button>
          </>
        )}
      </div>
      <ul>
        {files.map((f) => (
          <li key={f.name}>
            <button type="button" aria-current={f.name === shown || undefined} title={f.name} onClick={() => choose(f.name)}>
              <bdi>{f.name}</bdi>
              {is.has(f.name) && <small>{is.get(f.name)}</small>}
              <Count n={findings.filter((found) => found.refused && found.file === f.name).length} />
            </button>
          </li>
        ))}
        {gone.map((c) => (
          <li key={c.name} className={css.gone}>
            <bdi>{c.name}</bdi>
            <button type="button" aria-label={`Restore ${c.name}`} title="Restore" onClick={() => replace([...files, { name: c.name, of: c.name, text: null }], c.name)}>
              <RotateCcw size={14} aria-hidden />
            </button>
          </li>
        ))}
      </ul>
      {asking === "add" && <NameDialog title="New file" does="Add" files={files} name="" onClose={close} onName={(name) => replace(add(files, name), name)} />}
      {asking === "rename" && file && <NameDialog title="Rename the file" does="Rename" files={remove(files, file.name)} name={file.name} onClose={close} onName={(name) => replace(rename(files, file.name, name), name)} />}
      {asking === "remove" && file && (
        <Dialog open onClose={close} title={`Delete ${file.name}?`}>
          <p>The next revision will not contain this file. {file.of === null ? "No revision contains it, so its text is lost." : "Earlier revisions keep it, and you can restore it from the list until you save."}</p>
          <DialogFoot>
            <Button onClick={close}>Cancel</Button>
            <Button
              look="danger"
              onClick={() => {
                close();
                replace(remove(files, file.name));
              }}
            >
              Delete
            </Button>
          </DialogFoot>
        </Dialog>
      )}
    </nav>
  );
}

const Count = ({ n }: { n: number }) => (n === 0 ? null : <b aria-label={n === 1 ? "1 error" : `${n} errors`}>{n}</b>);

type NameProps = { title: string; does: string; files: File[]; name: string; onClose: () => void; onName: (name: string) => void };

function NameDialog({ title, does, files, name: before, onClose, onName }: NameProps) {
  const [name, setName] = useState(before);
  const problem = nameProblem(files, name);
  return (
    <Dialog open onClose={onClose} title={title}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (problem !== null) return;
          onClose();
          onName(name);
        }}
      >
        <label className={css.field}>
          Name
          <input value={name} autoFocus spellCheck={false} autoCapitalize="none" placeholder="sql/load.sql" aria-invalid={name !== "" && problem !== null} onChange={(e) => setName(e.target.value)} />
          {name !== "" && problem !== null && <small role="alert">{problem}</small>}
        </label>
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" disabled={problem !== null || name === before}>
            {does}
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}
