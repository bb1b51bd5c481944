import { expect, test } from "vitest";
import { exitWords } from "./exit";

test("exit codes of shells and systems are explained", () => {
  expect(exitWords("Command failed with code 137 (signal 9, killed)")).toContain("memory");
  expect(exitWords("Command failed with code 127")).toContain("did not find the command");
});

test("other codes have no explanation", () => {
  for (const message of ["Command failed with code 1", "Command failed with code 1370", "it failed with codes 137", "137", "", "Command failed with code 12"]) expect(exitWords(message)).toBeNull();
});
