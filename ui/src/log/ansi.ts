import Anser from "anser";

/** A part of a line in one style. Colors are numbers of the palette of the page, or undefined. */
export type Span = { text: string; color: string | null; bold: boolean; dim: boolean; italic: boolean; underline: boolean };

/** Escape sequences for other purposes than color and style: cursor movement, titles, links. */
const others = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[PX^_][\s\S]*?(?:\u001b\\|$)|\u001b\[[0-?]*[ -/]*[@-ln-~]|\u001b[()][0-9A-Za-z]|\u001b[=>78cDEHMNOZ]/g;
/** Invisible control characters, and characters that reverse the direction of text. */
const hidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g;

/** A line without escape sequences, for searching and copying. */
export const plain = (line: string): string => spansOf(line).map((s) => s.text).join("");

/** Splits a line by style. Text stays text and never becomes an element of the page. */
export function spansOf(line: string): Span[] {
  const clean = lastOverwritten(line).replace(others, "").replace(hidden, "");
  if (!clean.includes("\u001b")) return [{ text: clean, color: null, bold: false, dim: false, italic: false, underline: false }];
  return Anser.ansiToJson(clean, { use_classes: true, remove_empty: true, json: true }).map((e) => ({
    text: e.content.replaceAll("\u001b", ""),
    color: colorOf(e.fg),
    bold: e.decorations.includes("bold"),
    dim: e.decorations.includes("dim"),
    italic: e.decorations.includes("italic"),
    underline: e.decorations.includes("underline"),
  }));
}

/** Of an overwritten line, such as a progress bar, the last state is shown. */
function lastOverwritten(line: string): string {
  const trimmed = line.replace(/\r+$/, "");
  return trimmed.slice(trimmed.lastIndexOf("\r") + 1);
}

const colors = new Set(["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"]);

/** The name of one of the sixteen colors; other colors are shown as plain text, which is readable on every background. */
function colorOf(name: string | null): string | null {
  const color = /^ansi-(?:bright-)?([a-z]+)$/.exec(name ?? "")?.[1];
  return color && colors.has(color) ? color : null;
}
