import type { ReactNode } from "react";
import css from "./toggle.module.css";

type Props = { on: boolean; turn: () => void; title?: string; children: ReactNode };

/** A toggle button for a filter or an option. */
export const Toggle = ({ on, turn, title, children }: Props) => (
  <button type="button" className={css.toggle} aria-pressed={on} title={title} onClick={turn}>
    {children}
  </button>
);
