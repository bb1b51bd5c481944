import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Eye, EyeOff, Plus } from "lucide-react";
import { useState } from "react";
import type { Schemas } from "../api/client";
import { projectsQuery } from "../api/queries";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Dialog, DialogFoot } from "../parts/dialog";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Field } from "../parts/field";
import { TypedDialog } from "../parts/typed";
import { useKeys } from "../shell/keys";
import css from "./admin.module.css";
import { deleteSecret, secretsQuery, setSecret } from "./queries";

type Project = Schemas["Project"];

/** The names of a project's secrets. Values can be written but not read. */
export function Secrets({ project: id, onProject }: { project: string | undefined; onProject: (id: string) => void }) {
  const query = useQuery(projectsQuery);
  const projects = [...(query.data?.projects ?? [])].sort((a, b) => a.name.localeCompare(b.name, "en"));
  const project = projects.find((p) => p.id === id) ?? projects[0];
  if (!query.data) return <Loading query={query} rows={4} />;
  if (!project) return <Empty>Secrets belong to projects, and this server has no projects yet.</Empty>;
  return (
    <Of
      key={project.id}
      project={project}
      choice={
        <label className={css.choose}>
          Project
          <select value={project.id} onChange={(e) => onProject(e.target.value)}>
            {projects.map((p) => (
              <option key={p.id} value={p.id}>
                {p.name}
              </option>
            ))}
          </select>
        </label>
      }
    />
  );
}

function Of({ project, choice }: { project: Project; choice: React.ReactNode }) {
  const query = useQuery(secretsQuery(project.id));
  const [setting, setSetting] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<string | null>(null);
  useKeys([{ keys: "n", does: "Set a secret", run: () => setSetting("") }]);
  return (
    <>
      <header className={css.tools}>
        {choice}
        <p>Values are never shown.</p>
        <Button look="main" onClick={() => setSetting("")}>
          <Plus size={14} aria-hidden /> Set a secret
        </Button>
      </header>
      {!query.data && <Loading query={query} rows={4} />}
      {query.data?.secrets.length === 0 && <Empty>{project.name} has no secrets.</Empty>}
      <ul aria-label={`Secrets of ${project.name}`}>
        {query.data?.secrets.map(({ key, source }) => (
          <li key={key} className={css.secret}>
            <code>{key}</code>
            {source === "site" ? (
              <span>of the site</span>
            ) : (
              <>
                <Button onClick={() => setSetting(key)} aria-label={`Replace ${key}`} data-row>
                  Replace…
                </Button>
                <Button onClick={() => setDeleting(key)} aria-label={`Delete ${key}`}>
                  Delete…
                </Button>
              </>
            )}
          </li>
        ))}
      </ul>
      {setting !== null && <SetDialog project={project} known={setting} keys={query.data?.secrets.filter((s) => s.source !== "site").map((s) => s.key) ?? []} onClose={() => setSetting(null)} />}
      {deleting !== null && <DeleteDialog project={project} name={deleting} onClose={() => setDeleting(null)} />}
    </>
  );
}

type SetProps = { project: Project; known: string; keys: string[]; onClose: () => void };

/** Sets a secret. Only this dialog holds the value, and closing it discards the value. */
function SetDialog({ project, known, keys, onClose }: SetProps) {
  const queries = useQueryClient();
  const [key, setKey] = useState(known);
  const [value, setValue] = useState("");
  const [hidden, setHidden] = useState(true);
  const set = useMutation({
    gcTime: 0,
    mutationFn: () => setSecret(project.id, key, value),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["project", project.id, "secrets"] });
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title={known === "" ? `Set a secret of ${project.name}` : `Replace ${known}`}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          set.mutate();
        }}
      >
        {known === "" && (
          <Field label="Name" hint={keys.includes(key) ? "A secret with this name exists and will be replaced." : "The name that tasks use, such as pg.password"}>
            {(input) => <input {...input} value={key} required maxLength={255} onChange={(e) => setKey(e.target.value)} autoComplete="off" spellCheck={false} autoCapitalize="off" />}
          </Field>
        )}
        <Field label="Value" hint="Tasks that start from now on use this value. At most 16 KB.">
          {(input) => (
            <textarea {...input} rows={3} value={value} required data-hidden={hidden || undefined} onChange={(e) => setValue(e.target.value)} autoComplete="off" spellCheck={false} autoCapitalize="off" />
          )}
        </Field>
        <Button look="quiet" onClick={() => setHidden(!hidden)} className={css.show} aria-pressed={!hidden}>
          {hidden ? <Eye size={14} aria-hidden /> : <EyeOff size={14} aria-hidden />} Show value
        </Button>
        <CommandLine line={commands.setSecret(project.name, key || "KEY")} />
        {set.error && <Failure error={set.error} />}
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" disabled={key === "" || value === "" || set.isPending}>
            Save
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

function DeleteDialog({ project, name, onClose }: { project: Project; name: string; onClose: () => void }) {
  const queries = useQueryClient();
  const gone = useMutation({
    mutationFn: () => deleteSecret(project.id, name),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["project", project.id, "secrets"] });
      onClose();
    },
  });
  return (
    <TypedDialog title="Delete a secret" name={name} action="Delete" line={commands.deleteSecret(project.name, name)} change={gone} onClose={onClose}>
      <p>
        Tasks of <b>{project.name}</b> that use <b>{name}</b> will fail. The value cannot be recovered.
      </p>
    </TypedDialog>
  );
}
