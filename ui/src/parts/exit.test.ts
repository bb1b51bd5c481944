import { expect, test } from "vitest";
import { exitWords } from "./exit";

test("an exit code that shells and systems give is said in words, wherever the message goes on", () => {
  expect(exitWords("Command failed with code 137 (signal 9, killed)")).toContain("memory");
  expect(exitWords("Command failed with code 127")).toContain("no such command");
});

test("a code of the program's own, and what is no code, have no words", () => {
  for (const message of ["Command failed with code 1", "Command failed with code 1370", "it failed with codes 137", "137", "", "Command failed with code 12"]) expect(exitWords(message)).toBeNull();
});
