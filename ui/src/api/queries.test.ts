import { expect, test } from "vitest";
import { wordsOf } from "./queries";

test("tags and labels are parsed from the text", () => {
  expect(wordsOf(undefined)).toEqual({ q: undefined, tag: [], label: [] });
  expect(wordsOf(" tag:daily orders  label:team=sales tag:a=b eu ")).toEqual({ q: "orders eu", tag: ["daily", "a=b"], label: ["team=sales"] });
  expect(wordsOf("tag: label:te label:team=")).toEqual({ q: undefined, tag: [], label: [] });
});
