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
 * A place that somebody wants to see; another object is another wish, also for the same place. With `fix` what was meant is
 * written there; line 0 is that of the cursor.
 */
export type Place = { file: string; line: number; column: number; fix?: boolean };

type Props = {
  name: string;
  text: string;
  /** Counts how often texts were replaced other than by typing: another number shows `text` as it is. */
  version: number;
  readOnly: boolean;
  /** Those of this file. */
  findings: Finding[];
  place: Place | null;
  onChange: (name: string, text: string) => void;
};

const colours = HighlightStyle.define([
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: "var(--accent-text)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--done)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--text-3)" },
  { tag: [tags.keyword, tags.typeName, tags.labelName, tags.meta], color: "var(--canceled)" },
]);

/** The names of tasks, and the expressions in a text, which YAML knows nothing of. */
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

/** A text with the ends of lines that the file has. */
const withEnds = (text: string, state: EditorState) => text.replace(/\r\n?|\n/g, state.lineBreak);

/**
 * Replaces what is selected, and takes text of several lines, without the browser: that would carry colours over in style
 * attributes, which the policy of the page forbids, and would make of line ends what it takes for them.
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
  syntaxHighlighting(colours),
  theme,
];

/** The editor of one file at a time. It lies in a shadow root, which the policy of the page lets have styles of its own. */
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
    return () => void kept.of.set(name, view.current!.state); // with what can be undone
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
      EditorState.lineSeparator.of(text.includes("\r\n") ? "\r\n" : "\n"), // lines keep the ends that they have
      EditorState.readOnly.of(readOnly),
      EditorView.contentAttributes.of({ "aria-label": `Text of ${name}` }),
      EditorView.updateListener.of((u) => u.docChanged && typed(u.state.sliceDoc())),
    ],
  });
}

/** Writes what was meant at a place, or in the line of the cursor, as if somebody typed it: it can be undone. */
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

/** From a place on, counted from 1, to the end of the word there. A place that is not there any more is the nearest one. */
function rangeOf(state: EditorState, line: number, column: number): { from: number; to: number } {
  const at = state.doc.line(Math.min(Math.max(line, 1), state.doc.lines));
  const start = Math.min(Math.max(column - 1, at.text.search(/\S|$/)), at.length);
  const length = /^[^\s:]*/.exec(at.text.slice(start))![0].length;
  return { from: at.from + start, to: length > 0 ? at.from + start + length : at.to };
}

function diagnostic(state: EditorState, f: Finding): Diagnostic {
  return { ...rangeOf(state, f.line, f.column), severity: f.refused ? "error" : "warning", message: f.message, renderMessage: () => said(f) };
}

/** What is shown of a finding: always as text. */
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
