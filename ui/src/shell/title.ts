import { useEffect } from "react";
import type { Look } from "../parts/state";

const colors: Partial<Record<Look, string>> = { failed: "#d63a2f", running: "#2c97e9", done: "#327162", canceled: "#822b96" };

const shapes: Partial<Record<Look, string>> = {
  failed: '<path d="M11 11l10 10M21 11L11 21" stroke="#fff" stroke-width="3.6" stroke-linecap="round"/>',
  running: '<path d="M12.5 9.5v13l10-6.5z" fill="#fff"/>',
  done: '<path d="M9.5 16.5l4.5 4.5 9-10" stroke="#fff" stroke-width="3.6" fill="none" stroke-linecap="round" stroke-linejoin="round"/>',
  canceled: '<path d="M10 22L22 10" stroke="#fff" stroke-width="3.6" stroke-linecap="round"/>',
};

/** The icon of the tab for a state; the icon of zerodag without one. */
export function iconOf(look: Look | null): string {
  if (look === null || !colors[look]) return "/icon.svg";
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="${colors[look]}"/>${shapes[look]}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

/** Sets the title and the icon of the tab. */
export function useTitle(title: string, look: Look | null = null) {
  useEffect(() => {
    document.title = title ? `${title} · zerodag` : "zerodag";
    const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    if (link) link.href = iconOf(look);
  }, [title, look]);
}
