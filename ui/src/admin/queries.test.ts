import { expect, test } from "vitest";
import { secretLine } from "./queries";

test("a pasted line loses its line end, and secrets are otherwise unchanged", () => {
  expect(["secret\n", "secret\r\n", "secret", " a \n", "a\nb\n", "\n\n"].map(secretLine)).toEqual(["secret", "secret", "secret", " a ", "a\nb\n", "\n\n"]);
});
