import { Search } from "lucide-react";
import { useEffect, useState } from "react";
import css from "../pages/list.module.css";

/** How long to wait after typing before a search, in milliseconds. */
const pause = 250;

/** A search field that reports its text when typing pauses. */
export function SearchField({ value, onChange, label }: { value: string; onChange: (text: string) => void; label: string }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), pause);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <label className={css.search}>
      <Search size={15} aria-hidden />
      <input
        type="search"
        data-filter
        value={text}
        placeholder={label}
        aria-label={label}
        spellCheck={false}
        onChange={(e) => setText(e.target.value)}
        onKeyDown={(e) => e.key === "Escape" && e.currentTarget.blur()}
      />
    </label>
  );
}
