import { describe, expect, it } from "vitest";
import { formOf, given, hintOf } from "./declared";

const config = {
  zerodag: 1,
  params: {
    additional: false,
    country: { type: "string", enum: ["jp", "us"], default: "jp", description: "Market" },
    days: { type: "integer", minimum: 1, maximum: 31, required: true },
    tables: { type: "array" },
    full: { type: "boolean", default: false, required: true },
    level: { default: 3, fixed: true },
    token: { secret: true },
  },
};

describe("the declarations of a workflow", () => {
  it("are read only in zerodag: 1 mode", () => {
    expect(formOf({ params: config.params })).toBeNull();
    expect(formOf({ zerodag: 1 })).toBeNull();
    expect(formOf(config)).toMatchObject({ closed: true, fields: [{ name: "country", choices: ["jp", "us"] }, { name: "days", required: true }, {}, { name: "full", required: false }, { fixed: true }, { secret: true }] });
  });
  it("become hints of fields", () => {
    const hints = Object.fromEntries(formOf(config)!.fields.map((f) => [f.name, hintOf(f)]));
    expect(hints).toEqual({
      country: "Market",
      days: "integer · 1 or more · 31 or less",
      tables: "array as JSON",
      full: "boolean · false by default",
      level: "always 3",
      token: "the name of a secret, not its value",
    });
  });
});

describe("parameters of a form", () => {
  const fields = formOf(config)!.fields;
  it("have the declared types, and are omitted if empty", () => {
    expect(given(fields, { country: "1", days: "7", tables: '["a"]', full: "true", level: "9" })).toEqual({ params: { country: "us", days: 7, tables: ["a"], full: true }, error: null });
    expect(given(fields, { days: "7" })).toEqual({ params: { days: 7 }, error: null });
  });
  it("leave other checks to the server", () => expect(given(fields, { days: "many" }).params).toEqual({ days: "many" }));
  it("are rejected if one is missing or not JSON", () => {
    expect(given(fields, {}).error).toBe("days is required.");
    expect(given(fields, { days: "1", tables: "[" }).error).toBe("tables is not JSON.");
  });
});
