import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers, MatchDecorator, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import css from "./code.module.css";
import { fixOf } from "./fix";
import { theme } from "./theme";
import type { Finding } from "./useCheck";

/**
 * A place to show; a new object is a new request, even for the same place. With `fix`, the suggested fix is
 * applied there; line 0 is the line of the cursor.
 */
export type Place = { file: string; line: number; column: number; fix?: boolean };

type Props = {
  name: string;
  text: string;
  /** Counts replacements of texts other than by typing: a new number shows `text` unchanged. */
  version: number;
  readOnly: boolean;
  /** The findings of this file. */
  findings: Finding[];
  place: Place | null;
  onChange: (name: string, text: string) => void;
};

const colors = HighlightStyle.define([
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: "var(--accent-text)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--done)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--text-3)" },
  { tag: [tags.keyword, tags.typeName, tags.labelName, tags.meta], color: "var(--canceled)" },
]);

/** Marks task names and expressions, which are unknown to YAML. */
const matcher = new MatchDecorator({
  regexp: /^\s*(\+[\w\-.]+)(?=:)|\$\{[^}]*\}/g,
  decoration: (match) => Decoration.mark({ class: match[1] ? "zd-task" : "zd-expression" }),
});
const words = ViewPlugin.fromClass(
  class {
    decorations;
    constructor(view: EditorView) {
      this.decorations = matcher.createDeco(view);
    }
    update(update: ViewUpdate) {
      this.decorations = matcher.updateDeco(update, this.decorations);
    }
  },
  { decorations: (v) => v.decorations },
);

/** The text with the line ends of the file. */
const withEnds = (text: string, state: EditorState) => text.replace(/\r\n?|\n/g, state.lineBreak);

/**
 * Replaces the selection and inserts text of several lines without the browser, which would keep colors in style
 * attributes, which the policy of the page forbids, and would convert line ends.
 */
const insertion = EditorView.domEventHandlers({
  beforeinput(e, view) {
    const { selection, readOnly } = view.state;
    if (e.inputType !== "insertText" || e.data === null || e.isComposing || readOnly) return false;
    if (selection.main.empty && !e.data.includes("\n")) return false;
    view.dispatch(view.state.replaceSelection(withEnds(e.data, view.state)), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

const always: Extension = [
  insertion,
  EditorView.clipboardInputFilter.of(withEnds),
  lineNumbers(),
  lintGutter(),
  history(),
  drawSelection(),
  highlightActiveLine(),
  highlightActiveLineGutter(),
  bracketMatching(),
  indentOnInput(),
  indentUnit.of("  "),
  EditorState.tabSize.of(2),
  keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
  syntaxHighlighting(colors),
  theme,
];

/** The editor of one file at a time. It lives in a shadow root, where the policy of the page allows separate styles. */
export default function Code({ name, text, version, readOnly, findings, place, onChange }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const states = useRef({ version, of: new Map<string, EditorState>() });
  const latest = useRef({ name, text, findings, onChange });
  latest.current = { name, text, findings, onChange };
  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open" });
    view.current = new EditorView({ parent: root, root });
    return () => view.current?.destroy();
  }, []);
  useEffect(() => {
    const kept = states.current;
    if (kept.version !== version) kept.of.clear();
    kept.version = version;
    const state = kept.of.get(name) ?? newState(name, latest.current.text, readOnly, (typed) => latest.current.onChange(name, typed));
    view.current!.setState(state);
    return () => void kept.of.set(name, view.current!.state); // including the undo history
  }, [name, version, readOnly]);
  useEffect(() => view.current!.dispatch(setDiagnostics(view.current!.state, findings.map((f) => diagnostic(view.current!.state, f)))), [name, version, findings]);
  useEffect(() => {
    if (place?.file !== name) return;
    if (place.fix) return mend(view.current!, latest.current.findings, place);
    const { from } = rangeOf(view.current!.state, place.line, place.column);
    view.current!.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    view.current!.focus();
  }, [name, place]);
  return <div ref={host} className={css.code} data-editor />;
}

function newState(name: string, text: string, readOnly: boolean, typed: (text: string) => void): EditorState {
  return EditorState.create({
    doc: text,
    extensions: [
      always,
      /\.(dig|ya?ml)$/.test(name) ? [yaml(), words] : [],
      EditorState.lineSeparator.of(text.includes("\r\n") ? "\r\n" : "\n"), // keep the line ends of the file
      EditorState.readOnly.of(readOnly),
      EditorView.contentAttributes.of({ "aria-label": `Text of ${name}` }),
      EditorView.updateListener.of((u) => u.docChanged && typed(u.state.sliceDoc())),
    ],
  });
}

/** Applies the suggested fix at a place, or in the line of the cursor, as if it were typed: it can be undone. */
function mend(view: EditorView, findings: Finding[], { line, column }: Place) {
  const wanted = line > 0 ? line : view.state.doc.lineAt(view.state.selection.main.head).number;
  if (wanted > view.state.doc.lines) return;
  const at = view.state.doc.line(wanted);
  const here = findings.filter((f) => f.line === wanted && (column === 0 || f.column === column));
  const fix = here.map((f) => fixOf(f, at.text)).find((f) => f !== null);
  if (fix && !view.state.readOnly) {
    const changes = { from: at.from + fix.from, to: at.from + fix.to, insert: fix.insert };
    view.dispatch({ changes, selection: { anchor: changes.from + fix.insert.length }, userEvent: "input.complete", scrollIntoView: true });
  }
  view.focus();
}

/** The range from a place, counted from 1, to the end of its word. A place that no longer exists is replaced by the nearest one. */
function rangeOf(state: EditorState, line: number, column: number): { from: number; to: number } {
  const at = state.doc.line(Math.min(Math.max(line, 1), state.doc.lines));
  const start = Math.min(Math.max(column - 1, at.text.search(/\S|$/)), at.length);
  const length = /^[^\s:]*/.exec(at.text.slice(start))![0].length;
  return { from: at.from + start, to: length > 0 ? at.from + start + length : at.to };
}

function diagnostic(state: EditorState, f: Finding): Diagnostic {
  return { ...rangeOf(state, f.line, f.column), severity: f.refused ? "error" : "warning", message: f.message, renderMessage: () => said(f) };
}

/** The text of a finding: always plain text. */
function said(f: Finding): Node {
  const node = document.createElement("div");
  node.append(f.message);
  if (f.hint) {
    const hint = document.createElement("div");
    hint.className = "zd-hint";
    hint.append(f.hint);
    node.append(hint);
  }
  return node;
}
