import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { pageHeader } from "../api/client";
import { block, type FromWorker, type LogFile, type ToWorker } from "./messages";
import type { Hit } from "./text";
import workerURL from "./worker.ts?worker&url";

type Policy = { createScriptURL: (url: string) => string };
type TrustedTypes = { createPolicy: (name: string, rules: Policy) => Policy };

/** Workers are started through the only Trusted Types policy of the page, which allows this worker and no other. */
const policy: Policy = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy("zd-worker", { createScriptURL: known }) ?? { createScriptURL: known };

function known(url: string): string {
  if (url !== workerURL) throw new TypeError(`not a worker of this page: ${url}`);
  return url;
}

export type LogState = { count: number; characters: number; whole: boolean; cut: boolean; last: number; failed: { message: string; status: number } | null };
const begun: LogState = { count: 0, characters: 0, whole: false, cut: false, last: 0, failed: null };

/**
 * The log of a task, read by a worker that finds its lines and searches its text. `done`: the attempt has
 * ended, so its files are complete; `growing`: the task is running, so its log may grow.
 */
export function useLog(attempt: string, files: LogFile[], done: boolean, growing: boolean) {
  const [state, setState] = useState(begun);
  const [hits, setHits] = useState<{ text: string; hits: Hit[]; total: number }>({ text: "", hits: [], total: 0 });
  const [, redraw] = useState(0);
  const worker = useRef<Worker | null>(null);
  const blocks = useRef(new Map<number, string[]>());
  const asked = useRef(new Set<number>());
  const waiting = useRef<((line: number) => void)[]>([]);
  const names = files.map((f) => f.name).join("\n");

  useEffect(() => {
    setState(begun);
    blocks.current.clear();
    asked.current.clear();
    if (files.length === 0) return;
    const w = new Worker(policy.createScriptURL(workerURL), { type: "module" });
    worker.current = w;
    w.onmessage = (event: MessageEvent<FromWorker>) => {
      const m = event.data;
      if (m.is === "state") setState((s) => ({ ...s, ...m }));
      if (m.is === "failed") setState((s) => ({ ...s, failed: m }));
      if (m.is === "hits") setHits(m);
      if (m.is === "error") waiting.current.shift()?.(m.line);
      if (m.is === "lines") {
        blocks.current.set(m.block, m.lines);
        asked.current.delete(m.block);
        redraw((n) => n + 1);
      }
    };
    send(w, { do: "open", attempt, files, done, header: pageHeader });
    return () => {
      worker.current = null;
      w.terminate();
    };
    // `done` is omitted on purpose: a log that was followed to its end is not read again.
  }, [attempt, names]);

  useEffect(() => {
    const tell = () => worker.current && send(worker.current, { do: "follow", growing, seen: !document.hidden });
    tell();
    document.addEventListener("visibilitychange", tell);
    return () => document.removeEventListener("visibilitychange", tell);
  }, [growing, names]);

  const line = useCallback(
    (n: number): string | null => {
      const b = Math.floor(n / block);
      const lines = blocks.current.get(b);
      const missing = lines === undefined || n - b * block >= lines.length;
      if (missing && worker.current && !asked.current.has(b)) {
        asked.current.add(b);
        send(worker.current, { do: "lines", block: b, from: b * block, many: block });
      }
      return lines?.[n - b * block] ?? null;
    },
    [],
  );
  // The last block grows while the log is written, and its last line may have been incomplete.
  useEffect(() => void blocks.current.delete(Math.floor(Math.max(0, state.count - 2) / block)), [state.count, state.characters]);

  const search = useCallback((text: string) => worker.current && send(worker.current, { do: "search", text }), []);
  const find = useCallback(
    (what: "error" | "cause", from: number) =>
      new Promise<number>((done) => {
        if (!worker.current) return done(-1);
        waiting.current.push(done);
        send(worker.current, { do: what, from });
      }),
    [],
  );
  return useMemo(() => ({ state, hits, line, search, find }), [state, hits, line, search, find]);
}

const send = (worker: Worker, message: ToWorker) => worker.postMessage(message);
