import { expect, test } from "vitest";
import { LogText, mostHits } from "./text";

function logOf(...pieces: string[]) {
  const log = new LogText();
  for (const p of pieces) log.add(p);
  return log;
}

test("lines do not depend on how the text is split", () => {
  const text = "one\r\ntwo\n\nfour ä\nlast without an end";
  for (let a = 0; a <= text.length; a++) {
    for (let b = a; b <= text.length; b++) {
      const log = logOf(text.slice(0, a), text.slice(a, b), text.slice(b));
      expect(log.lines(0, 10)).toEqual(["one", "two", "", "four ä", "last without an end"]);
    }
  }
});

test("an incomplete line grows", () => {
  const log = logOf("a\nb");
  expect(log.count).toBe(2);
  log.add("c");
  expect(log.lines(0, 9)).toEqual(["a", "bc"]);
  log.add("\n");
  expect(log.count).toBe(2);
});

test("searching ignores case and includes the incomplete line", () => {
  const log = logOf("Alpha beta\nBETA alpha\n", "gamma alPHA");
  expect(log.search("alpha")).toEqual({ hits: [{ line: 0, at: 0 }, { line: 1, at: 5 }, { line: 2, at: 6 }], total: 3 });
  expect(log.search("")).toEqual({ hits: [], total: 0 });
});

test("all matches are counted, and a limited number returned", () => {
  const { hits, total } = logOf("x\n".repeat(mostHits + 5)).search("x");
  expect([hits.length, total]).toEqual([mostHits, mostHits + 5]);
});

const digdag = "2026-11-23 10:49:58.167 +0000 [ERROR] (0033@[0:shop:5:5]+a+b) io.digdag: Task failed";
const short = "2026-11-23 10:49:58.167 +0000 [ERROR] +a+b: Task failed";

test.each([digdag, short])("the cause is the last error that the task itself wrote, before %s", (server) => {
  const log = logOf("error of the run before\n── the next run ──\n", 'echo "it has no ERROR yet"\nloaded\npsql: ERROR: no table\nLINE 1: select\n', `${server}\n`);
  expect(log.line(log.cause(2))).toBe("psql: ERROR: no table");
  expect(logOf("fine\n", `${server}\n`).cause(0)).toBe(1);
  expect(logOf("fine\nstill fine\n").cause(0)).toBe(1);
  expect(logOf().cause(0)).toBe(-1);
  expect(logOf("Traceback (most recent call last):\n", "  File x\nValueError: bad\n").cause(0)).toBe(2);
});
