import { EditorView } from "@codemirror/view";

const field = { border: "1px solid var(--border-strong)", borderRadius: "var(--radius-s)", background: "var(--surface)", color: "var(--text)", font: "inherit" };

/** The editor theme with the colors and sizes of the page, whose tokens are inherited by the shadow root: one theme for light and dark. */
export const theme = EditorView.theme({
  "&": { height: "100%", background: "var(--surface)", color: "var(--text)", fontSize: "var(--text-m)" },
  "&.cm-focused": { outline: "none" }, // the line below the file name shows the focus
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { padding: "var(--space-2) 0", caretColor: "var(--text)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { border: "0", background: "var(--surface)", color: "var(--text-3)" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "28px" },
  ".cm-activeLine, .cm-activeLineGutter": { background: "color-mix(in oklab, var(--hover) 70%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "color-mix(in oklab, var(--accent) 28%, transparent)" },
  "&.cm-focused .cm-matchingBracket": { background: "var(--selected)" },
  ".zd-task, .zd-task *": { color: "var(--text)", fontWeight: "600" },
  ".zd-expression, .zd-expression *": { color: "var(--late-text)" },
  ".cm-lintRange-error": { background: "none", textDecoration: "underline wavy var(--failed)", textDecorationSkipInk: "none", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { background: "none", textDecoration: "underline wavy var(--retry)", textDecorationSkipInk: "none", textUnderlineOffset: "3px" },
  ".cm-lint-marker": { width: "8px", height: "8px", margin: "6px 3px" },
  ".cm-lint-marker-error": { content: "normal", borderRadius: "50%", background: "var(--failed)" },
  ".cm-lint-marker-warning": { content: "normal", borderRadius: "2px", background: "var(--retry)", transform: "rotate(45deg)" },
  ".cm-tooltip": { maxWidth: "480px", border: "1px solid var(--border)", borderRadius: "var(--radius-s)", background: "var(--surface)", boxShadow: "var(--shadow-high)", fontFamily: "var(--sans)" },
  ".cm-diagnostic": { padding: "var(--space-2) var(--space-3)", borderLeftWidth: "3px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--failed)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--retry)" },
  ".zd-hint": { color: "var(--text-2)" },
  ".cm-panels": { borderColor: "var(--border)", background: "var(--sunken)", color: "var(--text)", fontFamily: "var(--sans)" },
  ".cm-textfield": field,
  ".cm-button": { ...field, backgroundImage: "none" },
  ".cm-searchMatch": { background: "color-mix(in oklab, var(--retry) 35%, transparent)" },
  ".cm-searchMatch-selected": { background: "color-mix(in oklab, var(--accent) 45%, transparent)" },
});
