import { useSyncExternalStore } from "react";

/** The settings of a user in this browser; never credentials. */
type Name = "theme" | "zone" | "seen" | "keys" | "wrap" | "recent";

const listeners = new Set<() => void>();
const memory = new Map<Name, string>();
const key = (name: Name) => `zerodag.${name}`;

/** Reads a setting; null if it is not set. Without storage, settings last as long as the page. */
export function setting(name: Name): string | null {
  try {
    return localStorage.getItem(key(name));
  } catch {
    return memory.get(name) ?? null;
  }
}

/** Stores a setting; null removes it. */
export function choose(name: Name, value: string | null) {
  try {
    if (value === null) localStorage.removeItem(key(name));
    else localStorage.setItem(key(name), value);
  } catch {
    if (value === null) memory.delete(name);
    else memory.set(name, value);
  }
  if (name === "theme") applyTheme();
  for (const l of listeners) l();
}

function applyTheme() {
  const theme = setting("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

export const useSetting = (name: Name): string | null => useSyncExternalStore(subscribe, () => setting(name));

export type Theme = "system" | "light" | "dark";
export const themes: Theme[] = ["system", "light", "dark"];

export function useTheme(): Theme {
  const theme = useSetting("theme");
  return theme === "light" || theme === "dark" ? theme : "system";
}

/** The theme after this one, for the key that cycles through them. */
export function nextTheme() {
  const now = setting("theme") ?? "system";
  const next = themes[(themes.indexOf(now as Theme) + 1) % themes.length]!;
  choose("theme", next === "system" ? null : next);
}
