import { type ReactNode, useId } from "react";
import css from "./form.module.css";

type Input = { id: string; "aria-describedby": string };

/** A form field: its label, its input, and a hint that describes it. */
export function Field({ label, hint, children }: { label: string; hint: ReactNode; children: (input: Input) => ReactNode }) {
  const id = useId();
  return (
    <div className={css.field}>
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-describedby": `${id}-hint` })}
      <small id={`${id}-hint`}>{hint}</small>
    </div>
  );
}
