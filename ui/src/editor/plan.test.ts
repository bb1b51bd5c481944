import { expect, test } from "vitest";
import { planRows } from "./plan";

type Task = Parameters<typeof planRows>[0]["tasks"][number];

const task = (name: string, parent: number | null, more: Partial<Task> = {}): Task => ({ name, parent, upstreams: [], operator: null, group: false, makes: false, made: false, calls: null, place: null, ...more });
const rows = (...tasks: Task[]) => planRows({ all: true, tasks }).map((r) => `${"  ".repeat(r.depth)}${r.beside ? "| " : ""}${r.label}${r.operator ? ` ${r.operator}` : ""}${r.turns ? " ×" : ""}`);

test("a plan lists tasks in order with parallel ones", () => {
  expect(
    rows(
      task("+w", null, { group: true }),
      task("+w+load", 0, { group: true }),
      task("+w+load+a", 1, { operator: "sh" }),
      task("+w+load+b", 1, { operator: "sh" }),
      task("+w+report", 0, { operator: "echo", upstreams: [1] }),
    ),
  ).toEqual(["+w", "  +load", "    +a sh", "    | +b sh", "  +report echo"]);
});

test("tasks of a loop are listed once below it", () => {
  expect(
    rows(
      task("+w", null, { group: true }),
      task("+w+each", 0, { operator: "for_each", makes: true }),
      task("+w+each^sub+{}", 1, { group: true, made: true }),
      task("+w+each^sub+{}+x", 2, { operator: "sh", made: true }),
      task("+w+each^sub+{}+y", 2, { operator: "sh", made: true, upstreams: [3] }),
      task("+w+then", 0, { operator: "if", makes: true, upstreams: [1] }),
      task("+w+then^sub", 5, { operator: "echo", made: true }),
      task("+w+end", 0, { operator: "echo", upstreams: [5] }),
    ),
  ).toEqual(["+w", "  +each for_each ×", "    +x sh", "    +y sh", "  +then if", "    _do echo", "  +end echo"]);
});

test("an empty plan has no rows", () => expect(rows()).toEqual([]));
