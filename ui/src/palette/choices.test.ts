import { expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { actionsOf, foundGroups, groupsOf, pagesOf, readRecent, withRecent, writeRecent } from "./choices";

const project = { id: "1", name: "sales" };
const workflow = { id: "7", name: "a/b", project };
const found = (more: Partial<Schemas["Search"]>): Schemas["Search"] => ({ projects: [], workflows: [], tasks: [], session: null, attempt: null, ...more });

test("results link to their pages, whatever their names contain", () => {
  const groups = foundGroups(found({ projects: [project], workflows: [workflow], tasks: [{ name: "+a/b+load+part 1", workflow }] }));
  expect(groups.flatMap((g) => g.choices).map((c) => "path" in c && c.path)).toEqual(["/projects/1", "/projects/1/a%2Fb", "/projects/1/a%2Fb?q=%2Bpart%201"]);
});

test("a number is an attempt, a session, or both", () => {
  const brief = { id: "9", status: "error", project, workflow: { id: "7", name: "nightly" }, sessionId: "5", sessionTime: "2026-11-20T00:00:00+09:00", retryAttemptName: null, created: 1, finished: 2 } as const;
  const [numbers] = foundGroups(found({ attempt: brief, session: brief }));
  expect(numbers!.choices.map((c) => c.label)).toEqual(["Attempt 9", "Session 5"]);
  expect(new Set(numbers!.choices.map((c) => c.id)).size).toBe(2);
});

test("a text filters pages and actions, and hides recent choices", () => {
  const keys = [
    { keys: "r", does: "Retry failed tasks", run: () => {} },
    { keys: "j", does: "Next row", focused: true, run: () => {} },
    { keys: "g h", does: "Go home", run: () => {} },
  ];
  const recent = [{ label: "sales", note: "", path: "/projects/1" }];
  const all = groupsOf("", recent, pagesOf(false), actionsOf(keys), []);
  expect(all.map((g) => g.name)).toEqual(["Recent", "Pages", "On this page"]);
  expect(all[2]!.choices.map((c) => c.label)).toEqual(["Retry failed tasks"]);
  expect(groupsOf("RETRY", recent, pagesOf(false), actionsOf(keys), []).map((g) => g.name)).toEqual(["On this page"]);
});

test("only administrators see the admin page", () => {
  expect(pagesOf(false).some((p) => p.label.startsWith("Admin"))).toBe(false);
  expect(pagesOf(true).some((p) => p.label.startsWith("Admin"))).toBe(true);
});

test("recent choices are unique, belong to one user, and stay on this server", () => {
  let recent = readRecent(null, "ada");
  for (const n of [1, 2, 3, 4, 5, 6, 7, 3]) recent = withRecent(recent, { label: `p${n}`, note: "", path: `/projects/${n}` });
  expect(recent.map((r) => r.label)).toEqual(["p3", "p7", "p6", "p5", "p4", "p2"]);
  const kept = writeRecent("ada", recent);
  expect(readRecent(kept, "ada")).toEqual(recent);
  expect(readRecent(kept, "bob")).toEqual([]);
  for (const path of ["//evil.example", "/\\evil.example", "https://evil.example", "javascript:1"]) expect(readRecent(writeRecent("ada", [{ label: "x", note: "", path }]), "ada")).toEqual([]);
  for (const text of ["", "{", "1", '{"user":"ada","choices":[1,null]}']) expect(readRecent(text, "ada")).toEqual([]);
});
