import { useNavigate } from "@tanstack/react-router";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";
import { useRight } from "../api/session";
import { Palette } from "../palette/palette";
import { Dialog } from "../parts/dialog";
import { zoneModes } from "../parts/time";
import type { Key } from "./key";
import css from "./keys.module.css";
import { choose, nextTheme, setting, useSetting } from "./settings";

type Register = (keys: Key[]) => () => void;
const Context = createContext<{ register: Register; help: () => void; find: () => void }>({ register: () => () => {}, help: () => {}, find: () => {} });

/** Registers keys while the component is mounted. */
export function useKeys(keys: Key[]) {
  const { register } = useContext(Context);
  const latest = useRef(keys);
  latest.current = keys;
  const names = keys.map((k) => k.keys).join("|");
  useEffect(() => {
    const live = latest.current.map((k, i) => ({ ...k, run: () => latest.current[i]?.run() }));
    return register(live);
  }, [register, names]);
}

export const useHelp = () => useContext(Context).help;

/** Opens the palette. */
export const useFinder = () => useContext(Context).find;

/** Reports whether the user is typing, also in an editor whose shadow root hides the focused element. */
const typing = ([target]: EventTarget[]) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** How long `g` waits for its second key, in milliseconds. */
const chord = 1200;

function copyLink() {
  void navigator.clipboard?.writeText(`${document.title} ${location.href}`);
}

function focusFilter() {
  const field = document.querySelector<HTMLElement>("[data-filter]");
  field?.focus();
}

/** Moves the focus between the rows of the focused list, or into the first list. */
function moveRow(step: number) {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")].filter((r) => r.offsetParent !== null);
  if (rows.length === 0) return;
  const at = rows.findIndex((r) => r === document.activeElement || r.contains(document.activeElement));
  rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))]?.focus();
}

/** The global keys, and the list of all active keys. Single keys can be turned off (WCAG 2.1.4). */
export function Keys({ children }: { children: ReactNode }) {
  const navigate = useNavigate();
  const [groups] = useState(() => new Set<Key[]>());
  const [open, setOpen] = useState(false);
  const [finding, setFinding] = useState(false);
  const admin = useRight("admin");
  const off = useSetting("keys") === "off";
  const general = useMemo<Key[]>(
    () => [
      { keys: "?", does: "Show this list", run: () => setOpen(true) },
      { keys: "g h", does: "Go home", run: () => void navigate({ to: "/" }) },
      { keys: "g s", does: "Go to the sessions", run: () => void navigate({ to: "/sessions" }) },
      { keys: "g p", does: "Go to the projects", run: () => void navigate({ to: "/projects" }) },
      ...(admin ? [{ keys: "g a", does: "Go to the admin page", run: () => void navigate({ to: "/admin" }) }] : []),
      { keys: "/", does: "Filter the list", focused: true, run: focusFilter },
      { keys: "j", does: "Next row", focused: true, run: () => moveRow(1) },
      { keys: "k", does: "Previous row", focused: true, run: () => moveRow(-1) },
      { keys: "t", does: "Change the theme", run: nextTheme },
      { keys: "z", does: "Change the time zone", run: nextZone },
      { keys: "y", does: "Copy a link to this view", run: copyLink },
    ],
    [navigate, admin],
  );
  const pending = useRef(0);
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.altKey) return;
      if (document.querySelector("[role=dialog][data-open],[role=menu][data-open]")) return;
      if ((e.ctrlKey || e.metaKey) && !e.shiftKey && e.key.toLowerCase() === "k") {
        e.preventDefault();
        setFinding(true);
        return;
      }
      const all = [...general, ...[...groups].flat()];
      const held = e.ctrlKey || e.metaKey;
      const always = all.find((k) => k.always && k.keys === (held ? "Ctrl " : "") + e.key);
      if (always) {
        e.preventDefault();
        always.run();
        return;
      }
      if (held || typing(e.composedPath())) return;
      const after = Date.now() - pending.current < chord ? "g " : "";
      pending.current = e.key === "g" && !after ? Date.now() : 0;
      const key = all.findLast((k) => k.keys === after + e.key);
      if (!key || (off && key.keys !== "?")) return;
      e.preventDefault();
      key.run();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [general, groups, off]);
  const value = useMemo(
    () => ({
      register: (keys: Key[]) => {
        groups.add(keys);
        return () => void groups.delete(keys);
      },
      help: () => setOpen(true),
      find: () => setFinding(true),
    }),
    [groups],
  );
  return (
    <Context.Provider value={value}>
      {children}
      {finding && <Palette keys={[...[...groups].flat(), ...general]} onClose={() => setFinding(false)} />}
      <Dialog open={open} onClose={() => setOpen(false)} title="Keyboard shortcuts" wide>
        <dl className={css.list}>
          <div>
            <dt>
              <kbd>Ctrl</kbd>
              <kbd>k</kbd>
            </dt>
            <dd>Open the command palette</dd>
          </div>
          {[...[...groups].flat(), ...general].map((k) => (
            <div key={k.keys + k.does}>
              <dt>
                {k.keys.split(" ").map((part) => (
                  <kbd key={part}>{part}</kbd>
                ))}
              </dt>
              <dd>{k.does}</dd>
            </div>
          ))}
        </dl>
        <label className={css.off}>
          <input type="checkbox" checked={!off} onChange={(e) => choose("keys", e.target.checked ? null : "off")} />
          Enable single-key shortcuts
        </label>
      </Dialog>
    </Context.Provider>
  );
}

function nextZone() {
  const now = setting("zone") ?? "workflow";
  const at = zoneModes.findIndex((m) => m === now);
  choose("zone", zoneModes[(at + 1) % zoneModes.length]!);
}
