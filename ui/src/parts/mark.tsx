import { type Look, lookOf, shortOf, wordOf } from "./state";
import css from "./mark.module.css";

/** The shape of a state, which is as distinctive as its color. */
function Shape({ look }: { look: Look }) {
  switch (look) {
    case "done":
      return <circle cx="8" cy="8" r="5.5" fill="currentColor" />;
    case "ignored":
      return <path d="M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.6M8 10.6v.4" stroke="currentColor" strokeWidth="2" strokeLinecap="round" fill="none" />;
    case "skipped":
      return <path d="M3.5 3.5L8 8l-4.500 4.500M9 3.500L13.500 8L9 12.500" stroke="currentColor" strokeWidth="2" strokeLinecap="round" strokeLinejoin="round" fill="none" />;
    case "running":
      return <path d="M4.5 2.8v10.4a.6.6 0 0 0 .92.5l8-5.2a.6.6 0 0 0 0-1l-8-5.2a.6.6 0 0 0-.92.5z" fill="currentColor" />;
    case "failed":
      return <path d="M3.5 3.5l9 9M12.5 3.5l-9 9" stroke="currentColor" strokeWidth="2.6" strokeLinecap="round" fill="none" />;
    case "retry":
      return <path d="M13 8a5 5 0 1 1-1.6-3.7M13.2 1.8v3h-3" stroke="currentColor" strokeWidth="2" strokeLinecap="round" strokeLinejoin="round" fill="none" />;
    case "canceled":
      return <path d="M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.2 4.2l7.6 7.6" stroke="currentColor" strokeWidth="2" fill="none" />;
    case "waiting":
      return <circle cx="8" cy="8" r="4.9" stroke="currentColor" strokeWidth="1.8" fill="none" />;
    case "blocked":
      return <circle cx="8" cy="8" r="4.9" stroke="currentColor" strokeWidth="1.8" strokeDasharray="2.4 2.7" fill="none" />;
  }
}

/** The mark of a state: shape, color, and a text for screen readers. */
export function Mark({ state, size = 14, word = false }: { state: string; size?: number; word?: boolean }) {
  const look = lookOf(state);
  const short = word ? shortOf(state) : "";
  const alone = short !== wordOf(state); // the mark is more specific than the word next to it
  return (
    <span className={css.mark} data-look={look} title={word && alone ? wordOf(state) : undefined}>
      <svg viewBox="0 0 16 16" width={size} height={size} role="img" aria-label={alone ? wordOf(state) : undefined} aria-hidden={!alone || undefined}>
        <Shape look={look} />
      </svg>
      {word && <span className={css.word}>{short}</span>}
    </span>
  );
}
