/** A parameter that a workflow file declares (`params`), as a form field. */
export type Declared = {
  name: string;
  type: string;
  /** The description, or "". */
  help: string;
  /** The allowed values; null for any. */
  choices: unknown[] | null;
  required: boolean;
  fixed: boolean;
  secret: boolean;
  /** undefined if there is no default. */
  standard: unknown;
  format: string;
  least: number | undefined;
  most: number | undefined;
};

/** The declared parameters of a workflow; null if its file declares none. */
export type Form = { fields: Declared[]; closed: boolean } | null;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const number = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

/** Reads the declarations of a workflow file, which only have an effect with `zerodag: 1`. */
export function formOf(config: Record<string, unknown>): Form {
  const params = config.params;
  if (config.zerodag === undefined || !isObject(params)) return null;
  const fields: Declared[] = [];
  for (const [name, rule] of Object.entries(params)) {
    if (!isObject(rule)) continue;
    fields.push({
      name,
      type: text(rule.type) || (rule.secret === true ? "string" : ""),
      help: text(rule.description),
      choices: Array.isArray(rule.enum) ? rule.enum : rule.const !== undefined ? [rule.const] : null,
      required: rule.required === true && (rule.default === undefined || rule.default === null),
      fixed: rule.fixed === true,
      secret: rule.secret === true,
      standard: rule.default ?? undefined,
      format: text(rule.format),
      least: number(rule.minimum),
      most: number(rule.maximum),
    });
  }
  return { fields, closed: params.additional === false };
}

/** Formats a value for a form. */
export const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The hint of a field. */
export function hintOf(field: Declared): string {
  const parts = [field.help];
  if (field.secret) parts.push("the name of a secret, not its value");
  else if (field.type === "array" || field.type === "object") parts.push(`${field.type} as JSON`);
  else if (field.type !== "" && field.choices === null) parts.push(field.format || field.type);
  if (field.least !== undefined) parts.push(`${field.least} or more`);
  if (field.most !== undefined) parts.push(`${field.most} or less`);
  if (field.fixed) parts.push(`always ${shown(field.standard)}`);
  else if (field.standard !== undefined && field.choices === null) parts.push(`${shown(field.standard)} by default`);
  return parts.filter((p) => p !== "").join(" · ");
}

/**
 * The parameters of a start from the filled-in fields. Empty fields are omitted. Invalid numbers stay text: the server reports
 * them, like all other violations of the declarations.
 */
export function given(fields: Declared[], filled: Record<string, string>): { params: Record<string, unknown>; error: null } | { params: null; error: string } {
  const params: Record<string, unknown> = {};
  for (const field of fields) {
    const value = filled[field.name] ?? "";
    if (value === "" || field.fixed) {
      if (field.required) return { params: null, error: `${field.name} is required.` };
      continue;
    }
    if (field.choices) params[field.name] = field.choices[Number(value)];
    else if (field.type === "boolean") params[field.name] = value === "true";
    else if ((field.type === "integer" || field.type === "number") && Number.isFinite(Number(value)) && Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER) params[field.name] = Number(value);
    else if (field.type === "array" || field.type === "object") {
      try {
        params[field.name] = JSON.parse(value);
      } catch {
        return { params: null, error: `${field.name} is not JSON.` };
      }
    } else params[field.name] = value;
  }
  return { params, error: null };
}
