import { expect, test } from "vitest";
import { add, type Base, changes, checkable, entriesOf, nameProblem, remove, rename, textNow, untouched, workflowIn, write } from "./project";
import type { Entry } from "./tar";

const entry = (name: string, content: string | Uint8Array, kind: Entry["kind"] = "file"): Entry => {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return { name, kind, mode: 0o750, content: bytes, raw: new Uint8Array(512) };
};
const base: Base = {
  revision: "r1",
  entries: [entry("sql/", "", "other"), entry("sql/load.sql", "select 1\r\n"), entry("daily.dig", "+a:\n"), entry("data.bin", Uint8Array.of(1, 0, 255)), entry("latest", "", "link")],
};
const text = (entries: Entry[], name: string) => new TextDecoder().decode(entries.find((e) => e.name === name)!.content);

test("unchanged files keep their entry in the next archive", () => {
  const files = write(base, untouched(base), "daily.dig", "+b:\n");
  const next = entriesOf(base, files);
  expect(next.map((e) => e.name)).toEqual(base.entries.map((e) => e.name));
  for (const e of base.entries) if (e.name !== "daily.dig") expect(next).toContain(e);
  expect(next.find((e) => e.name === "daily.dig")).toMatchObject({ mode: 0o750, raw: null });
  expect(text(next, "daily.dig")).toBe("+b:\n");
});

test("a reverted text is not a change", () => {
  const files = write(base, write(base, untouched(base), "daily.dig", "+b:\n"), "daily.dig", "+a:\n");
  expect(changes(base, files)).toEqual([]);
});

test("a renamed file keeps its mode and bytes, even if it is binary", () => {
  const files = rename(untouched(base), "data.bin", "other.bin");
  expect(changes(base, files)).toEqual([{ name: "other.bin", from: "data.bin", is: "renamed", before: null, after: null }]);
  expect(entriesOf(base, files).find((e) => e.name === "other.bin")).toMatchObject({ mode: 0o750, content: Uint8Array.of(1, 0, 255) });
});

test("added and removed files are listed with their texts", () => {
  const files = write(base, add(remove(untouched(base), "sql/load.sql"), "new.sql"), "new.sql", "select 2\n");
  expect(changes(base, files)).toEqual([
    { name: "new.sql", from: null, is: "added", before: null, after: "select 2\n" },
    { name: "sql/load.sql", from: null, is: "removed", before: "select 1\r\n", after: null },
  ]);
  expect(entriesOf(base, files).map((e) => e.name)).toEqual(["sql/", "daily.dig", "data.bin", "latest", "new.sql"]);
});

test("a file that replaces a removed one is a new file", () => {
  const files = add(remove(untouched(base), "daily.dig"), "daily.dig");
  expect(entriesOf(base, files).filter((e) => e.name === "daily.dig")).toMatchObject([{ mode: 0o644 }]);
  expect(changes(base, files).map((c) => c.is)).toEqual(["added", "removed"]);
});

test("only text files have a text", () => {
  const named = (name: string) => textNow(base, untouched(base).find((f) => f.name === name)!);
  expect(named("sql/load.sql")).toBe("select 1\r\n");
  expect(named("data.bin")).toBeNull();
  expect(named("latest")).toBeNull();
});

test("invalid and conflicting names are rejected", () => {
  const files = untouched(base);
  for (const name of ["", "/a", "a/", "a//b", "../a", "a/./b", "a\nb", "daily.dig", "daily.dig/x", "sql", "x".repeat(256)]) expect(nameProblem(files, name), name).not.toBeNull();
  for (const name of ["sql/new.sql", "<img src=x>", ".hidden", "ü.dig"]) expect(nameProblem(files, name), name).toBeNull();
});

test("all names are checked, and as many texts as fit, workflows first", () => {
  const large: Base = { revision: "r", entries: ["a.sql", "b.sql", "c.sql", "d.sql", "z.dig"].map((n) => entry(n, n.endsWith(".dig") ? "+a:\n" : "x".repeat(999_999))) };
  const sent = checkable(large, untouched(large));
  expect(Object.keys(sent)).toEqual(["z.dig", "a.sql", "b.sql", "c.sql", "d.sql"]);
  expect(sent["z.dig"]).toBe("+a:\n");
  expect(sent["d.sql"]).toBe("");
  expect(JSON.stringify({ files: sent }).length).toBeLessThan(4 << 20);
});

test("a workflow is a .dig file in the project folder", () => {
  expect(["daily.dig", "sub/daily.dig", "daily.sql"].map(workflowIn)).toEqual(["daily", null, null]);
});
