import type { Schemas } from "../api/client";
import type { Key } from "../shell/key";

/** An entry of the palette: a page of the console, or an action of this page. */
export type Choice = { id: string; label: string; note: string } & ({ path: string } | { run: () => void });

/** The stored part of a choice, to offer it again. */
export type Recent = { label: string; note: string; path: string };

export type Group = { name: string; choices: Choice[] };

/** How many recent choices are stored. */
const mostRecent = 6;

const holds = (text: string, wanted: string) => text.toLowerCase().includes(wanted.toLowerCase());

/** The pages with their keys. */
export function pagesOf(admin: boolean): Choice[] {
  const pages = [
    ["Home", "g h", "/"],
    ["Projects", "g p", "/projects"],
    ["Sessions", "g s", "/sessions"],
    ["Failed sessions", "", "/sessions?state=error"],
    ["Running sessions", "", "/sessions?state=running"],
    ...(admin ? [["Admin: tokens", "g a", "/admin"], ["Admin: secrets", "", "/admin?tab=secrets"], ["Admin: audit", "", "/admin?tab=audit"]] : []),
  ] as const;
  return pages.map(([label, note, path]) => ({ id: path, label: label!, note: note!, path: path! }));
}

/** The actions of keys that need no focused row or field. */
export const actionsOf = (keys: readonly Key[]): Choice[] =>
  keys.filter((k) => !k.focused && !k.keys.startsWith("g ")).map((k) => ({ id: `key ${k.keys}`, label: k.does, note: k.keys, run: k.run }));

/** The results of a search with their addresses. */
export function foundGroups(found: Schemas["Search"]): Group[] {
  const part = encodeURIComponent;
  const attempt = (a: Schemas["Brief"], what: string): Choice => ({
    id: `${what} ${a.id}`,
    label: `${what} ${what === "Attempt" ? a.id : a.sessionId}`,
    note: `${a.project.name}/${a.workflow.name} ${a.sessionTime.slice(0, 16).replace("T", " ")}`,
    path: `/attempts/${a.id}`,
  });
  const workflow = (w: Schemas["FoundWorkflow"]) => `/projects/${part(w.project.id)}/${part(w.name)}`;
  return [
    { name: "Numbers", choices: [...(found.attempt ? [attempt(found.attempt, "Attempt")] : []), ...(found.session ? [attempt(found.session, "Session")] : [])] },
    { name: "Projects", choices: found.projects.map((p) => ({ id: `project ${p.id}`, label: p.name, note: "", path: `/projects/${part(p.id)}` })) },
    { name: "Workflows", choices: found.workflows.map((w) => ({ id: `workflow ${w.id}`, label: w.name, note: w.project.name, path: workflow(w) })) },
    {
      name: "Tasks",
      choices: found.tasks.map((t) => ({ id: `task ${t.workflow.id} ${t.name}`, label: t.name, note: `${t.workflow.project.name}/${t.workflow.name}`, path: `${workflow(t.workflow)}?q=${part(t.name.slice(t.name.lastIndexOf("+")))}` })),
    },
  ];
}

/** The entries for a text, in the displayed order; empty groups are omitted. */
export function groupsOf(text: string, recent: readonly Recent[], pages: Choice[], actions: Choice[], found: Group[]): Group[] {
  const again: Choice[] = text === "" ? recent.map((r) => ({ ...r, id: `recent ${r.path}` })) : [];
  const groups = [
    { name: "Recent", choices: again },
    ...found,
    { name: "Pages", choices: pages.filter((c) => holds(c.label, text)) },
    { name: "On this page", choices: actions.filter((c) => holds(c.label, text)) },
  ];
  return groups.filter((g) => g.choices.length > 0);
}

/** Adds a choice to the recent ones, newest first and without duplicates. */
export const withRecent = (recent: readonly Recent[], { label, note, path }: Recent): Recent[] => [{ label, note, path }, ...recent.filter((r) => r.path !== path)].slice(0, mostRecent);

/** Reads the stored choices of a user; none if they belong to another user or are invalid. */
export function readRecent(text: string | null, user: string | null): Recent[] {
  try {
    const kept = JSON.parse(text ?? "null") as { user?: unknown; choices?: unknown } | null;
    if (kept === null || kept.user !== user || !Array.isArray(kept.choices)) return [];
    return kept.choices.filter(isRecent).slice(0, mostRecent);
  } catch {
    return [];
  }
}

/** Reports whether a value is a stored choice whose path is on this server: `//` would lead to a different one. */
function isRecent(value: unknown): value is Recent {
  if (typeof value !== "object" || value === null) return false;
  const { label, note, path } = value as Partial<Record<keyof Recent, unknown>>;
  return typeof label === "string" && typeof note === "string" && typeof path === "string" && /^\/(?![/\\])/.test(path);
}

export const writeRecent = (user: string | null, choices: readonly Recent[]): string => JSON.stringify({ user, choices });
