import { expect, test } from "vitest";
import type { Change } from "../live/outline";
import { joined } from "./history";

const entry = (seq: number): Change => ({ seq, at: seq, made: null, task: [], state: [], runs: [], retry: [] });
const seqs = (changes: Change[]) => changes.map((change) => change.seq);

test("read and received entries form one history without duplicates", () => {
  expect(seqs(joined([1, 2, 5].map(entry), [2, 5, 6, 9].map(entry)))).toEqual([1, 2, 5, 6, 9]);
  expect(seqs(joined([], [3].map(entry)))).toEqual([3]);
  expect(seqs(joined([1, 2].map(entry), []))).toEqual([1, 2]);
});
