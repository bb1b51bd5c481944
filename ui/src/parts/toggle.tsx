import type { ReactNode } from "react";
import css from "./toggle.module.css";

type Props = { on: boolean; turn: () => void; title?: string; children: ReactNode };

/** A button that is pressed or not: what it names is shown, or is shown alone. */
export const Toggle = ({ on, turn, title, children }: Props) => (
  <button type="button" className={css.toggle} aria-pressed={on} title={title} onClick={turn}>
    {children}
  </button>
);
