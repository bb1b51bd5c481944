import { expect, test } from "vitest";
import { fixOf } from "./fix";

const mended = (line: string, column: number, message: string, hint: string | null) => {
  const fix = fixOf({ message, hint, column }, line);
  return fix && line.slice(0, fix.from) + fix.insert + line.slice(fix.to);
};

test("a word is replaced by the suggestion", () => {
  expect(mended("  for_eahc>: {a: [1]}", 3, "unknown operator for_eahc>", "did you mean for_each?")).toBe("  for_each>: {a: [1]}");
  expect(mended("  dayly>: 07:00:00", 3, "Unknown scheduler type: dayly", "did you mean daily>?")).toBe("  daily>: 07:00:00");
  expect(mended("  _retyr: 3", 3, "unknown key _retyr", "did you mean _retry?")).toBe("  _retry: 3");
  expect(mended("  dtabase: x", 3, "dtabase is not a parameter of pg>", "did you mean database? Export it (_export) if it is your own variable")).toBe("  database: x");
});

test("text without a hint, or that has changed, is kept", () => {
  expect(mended("  ecoh>: x", 3, "unknown operator ecoh>", "did you mean echo, each?")).toBeNull();
  expect(mended("  ecoh>: x", 3, "unknown operator ecoh>", null)).toBeNull();
  expect(mended("  echo>: x", 3, "unknown operator ecoh>", "did you mean echo?")).toBeNull();
  expect(mended("", 3, "unknown operator ecoh>", "did you mean echo?")).toBeNull();
  expect(mended("  ecoh>: x", 0, "unknown operator ecoh>", "did you mean echo?")).toBeNull();
});
