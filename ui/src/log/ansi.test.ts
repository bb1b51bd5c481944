import { expect, test } from "vitest";
import { plain, spansOf } from "./ansi";

const styles = (line: string) => spansOf(line).map((s) => [s.text, s.color, s.bold] as const);

test("colors and weights are kept", () => {
  expect(styles("a \u001b[1;31mred\u001b[0m b")).toEqual([["a ", null, false], ["red", "red", true], [" b", null, false]]);
  expect(styles("\u001b[38;5;196mdeep\u001b[0m")[0]?.[0]).toBe("deep");
});

test("other escape sequences are removed", () => {
  for (const escape of ["\u001b[2J", "\u001b[1;1H", "\u001b]0;title\u0007", "\u001b]8;;https://x.example\u001b\\", "\u001b(B", "\u001b7", "\u0007", "\u0000", "\u001bP1$r\u001b\\", "\u001b[?25l"]) {
    expect(plain(`a${escape}b`), JSON.stringify(escape)).toBe("ab");
  }
});

test("an overwritten line shows its last state", () => {
  expect(plain("10%\r50%\r100%")).toBe("100%");
  expect(plain("done\r")).toBe("done");
});

test("markup stays text, and incomplete escapes end", () => {
  expect(plain('<img src=x onerror="y">')).toBe('<img src=x onerror="y">');
  expect(plain("a\u001b[31")).not.toContain("\u001b");
  expect(plain(`${"\u001b[".repeat(2000)}x`)).not.toContain("\u001b");
});
