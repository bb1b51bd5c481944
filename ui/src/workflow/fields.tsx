import type { ReactNode } from "react";
import { Field } from "../parts/field";
import { type Declared, hintOf, shown } from "./declared";

type Props = { fields: Declared[]; filled: Record<string, string>; fill: (name: string, value: string) => void };

/** A field for each parameter that a workflow declares. */
export const ParameterFields = ({ fields, filled, fill }: Props) =>
  fields.map((field) => (
    <Field key={field.name} label={field.required ? `${field.name} (required)` : field.name} hint={hintOf(field)}>
      {(input) => <Control input={input} field={field} value={filled[field.name] ?? ""} fill={(value) => fill(field.name, value)} />}
    </Field>
  ));

type ControlProps = { input: { id: string; "aria-describedby": string }; field: Declared; value: string; fill: (value: string) => void };

function Control({ input, field, value, fill }: ControlProps): ReactNode {
  const common = { ...input, value, required: field.required, disabled: field.fixed };
  const choices = field.choices ? field.choices.map(shown) : field.type === "boolean" ? ["true", "false"] : null;
  if (choices) {
    const none = field.standard === undefined ? "" : `${shown(field.standard)} (default)`;
    return (
      <select {...common} onChange={(e) => fill(e.target.value)}>
        <option value="">{none}</option>
        {choices.map((choice, i) => (
          <option key={choice} value={field.choices ? String(i) : choice}>
            {choice}
          </option>
        ))}
      </select>
    );
  }
  if (field.type === "array" || field.type === "object") {
    return <textarea {...common} rows={3} spellCheck={false} placeholder={field.standard === undefined ? "" : shown(field.standard)} onChange={(e) => fill(e.target.value)} />;
  }
  const numeric = field.type === "integer" || field.type === "number";
  return (
    <input
      {...common}
      type={numeric ? "number" : field.format === "date" ? "date" : field.format === "email" ? "email" : field.format === "uri" ? "url" : "text"}
      step={field.type === "integer" ? 1 : numeric ? "any" : undefined}
      min={field.least}
      max={field.most}
      placeholder={field.standard === undefined ? "" : shown(field.standard)}
      autoComplete="off"
      spellCheck={false}
      onChange={(e) => fill(e.target.value)}
    />
  );
}
