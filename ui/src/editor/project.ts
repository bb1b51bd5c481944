import type { Entry } from "./tar";

/** A file of a project that is being edited. */
export type File = {
  name: string;
  /** The name in the edited revision; null for a new file. */
  of: string | null;
  /** The changed text; null if unchanged. */
  text: string | null;
};

/** The revision that is edited; its name is null for a project that does not exist yet. */
export type Base = { revision: string | null; entries: Entry[] };

/** The changes since the edited revision. Texts are null if there is no file, or if it is not text. */
export type Change = { name: string; from: string | null; is: "added" | "changed" | "renamed" | "removed"; before: string | null; after: string | null };

/** Larger files cannot be edited, in bytes. */
const mostText = 1_000_000;
/** The maximum amount of text that is sent to be checked, in bytes as JSON: the server accepts 4 MB. */
const mostChecked = 3_800_000;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();
const texts = new WeakMap<Entry, string | null>();

/** The text of an entry; null for links, binary files and files that are too large to edit. */
function textOf(entry: Entry): string | null {
  let text = texts.get(entry);
  if (text === undefined) {
    text = decode(entry);
    texts.set(entry, text);
  }
  return text;
}

function decode({ kind, content }: Entry): string | null {
  if (kind !== "file" || content.length > mostText || content.includes(0)) return null;
  try {
    return decoder.decode(content);
  } catch {
    return null;
  }
}

const listed = (e: Entry) => e.kind !== "other";
const find = (base: Base, name: string | null) => base.entries.find((e) => listed(e) && e.name === name);

/** The order of files: workflows first, because users edit them most. */
const order = (a: File, b: File) => Number(isWorkflow(b.name)) - Number(isWorkflow(a.name)) || (a.name < b.name ? -1 : 1);

/** The name of the workflow in a file, or null. */
export const workflowIn = (file: string) => (isWorkflow(file) ? file.slice(0, -".dig".length) : null);
const isWorkflow = (name: string) => /^[^/]+\.dig$/.test(name);

/** All files of a revision, unchanged. */
export const untouched = (base: Base): File[] => base.entries.filter(listed).map((e) => ({ name: e.name, of: e.name, text: null })).sort(order);

/** The current text of a file; null if it cannot be edited. */
export function textNow(base: Base, file: File): string | null {
  if (file.text !== null) return file.text;
  const entry = find(base, file.of);
  return entry ? textOf(entry) : null;
}

/** The size and kind of a file that has no editable text. */
export const sizeOf = (base: Base, file: File): number => find(base, file.of)?.content.length ?? 0;
export const isLink = (base: Base, file: File): boolean => find(base, file.of)?.kind === "link";

export function write(base: Base, files: File[], name: string, text: string): File[] {
  const same = (f: File) => f.of !== null && textNow(base, { ...f, text: null }) === text;
  return files.map((f) => (f.name === name ? { ...f, text: same(f) ? null : text } : f));
}

export const add = (files: File[], name: string): File[] => [...files, { name, of: null, text: "" }].sort(order);
export const rename = (files: File[], name: string, to: string): File[] => files.map((f) => (f.name === name ? { ...f, name: to } : f)).sort(order);
export const remove = (files: File[], name: string): File[] => files.filter((f) => f.name !== name);

/** Why a file cannot have a name; null if it can. */
export function nameProblem(files: File[], name: string): string | null {
  const parts = name.split("/");
  if (name === "") return "A file needs a name.";
  if (parts.some((p) => p === "" || p === "." || p === "..")) return "Use a path inside the project, such as sql/load.sql.";
  if (/\p{Cc}/u.test(name)) return "Names must not contain control characters.";
  if (parts.some((p) => encoder.encode(p).length > 255)) return "Each part of a name may have at most 255 bytes.";
  if (files.some((f) => f.name === name)) return "A file with this name exists.";
  const above = files.find((f) => name.startsWith(`${f.name}/`) || f.name.startsWith(`${name}/`));
  return above ? `${above.name} already exists: a name cannot be both a file and a folder.` : null;
}

/** The changes since the revision, in the order of the files, followed by removed files. */
export function changes(base: Base, files: File[]): Change[] {
  const kept = new Set(files.map((f) => f.of));
  const found = files.flatMap((f): Change[] => {
    const entry = find(base, f.of);
    const before = entry ? textOf(entry) : null;
    const after = textNow(base, f);
    if (f.of === null) return [{ name: f.name, from: null, is: "added", before: null, after }];
    if (f.name !== f.of) return [{ name: f.name, from: f.of, is: "renamed", before, after }];
    return f.text === null ? [] : [{ name: f.name, from: null, is: "changed", before, after }];
  });
  const gone = base.entries.filter((e) => listed(e) && !kept.has(e.name));
  return [...found, ...gone.map((e): Change => ({ name: e.name, from: null, is: "removed", before: textOf(e), after: null }))];
}

/** The archive of the next revision: unchanged files are copied with their mode, and links stay links. */
export function entriesOf(base: Base, files: File[]): Entry[] {
  const byOrigin = new Map(files.map((f) => [f.of, f]));
  const kept = base.entries.flatMap((e): Entry[] => {
    if (!listed(e)) return [e];
    const file = byOrigin.get(e.name);
    if (!file) return [];
    if (file.name === e.name && file.text === null) return [e];
    return [{ ...e, name: file.name, content: file.text === null ? e.content : encoder.encode(file.text), raw: null }];
  });
  const made = files.filter((f) => f.of === null).map((f): Entry => ({ name: f.name, kind: "file", mode: 0o644, content: encoder.encode(f.text ?? ""), raw: null }));
  return [...kept, ...made];
}

/** The texts to check, by name. Files that are not text or exceed the limit are listed by name only; workflows come first. */
export function checkable(base: Base, files: File[]): Record<string, string> {
  const size = (text: string) => encoder.encode(JSON.stringify(text)).length + 2;
  let room = mostChecked - files.reduce((sum, f) => sum + size(f.name), 0);
  return Object.fromEntries(
    files.map((f) => {
      const text = textNow(base, f) ?? "";
      const fits = size(text) <= room;
      room -= fits ? size(text) : 0;
      return [f.name, fits ? text : ""];
    }),
  );
}
