import { useEffect, useRef, useState } from "react";
import { answered, client, type Schemas } from "../api/client";
import type { Plan } from "./plan";
import { type Base, checkable, type File } from "./project";
import type { Scheduled } from "./scheduled";

export type Finding = Schemas["Findings"]["findings"][number];

/** How long to wait after typing before a check, in milliseconds. */
const pause = 400;

type Checked = {
  findings: Finding[];
  /** The server omitted some findings. */
  more: boolean;
  /** The findings belong to the current files. */
  current: boolean;
  /** Why the files could not be checked. */
  error: unknown;
  /** The schedules of workflows; null if one of them cannot be parsed. */
  schedules: Scheduled[] | null;
  /** The tasks of the requested workflow as of its last valid version, and whether that is the current text. */
  plan: { workflow: string; tasks: Plan; current: boolean } | null;
};

/** Checks the files on the server when typing pauses. Responses to outdated requests are dropped. */
export function useCheck(base: Base, files: File[], workflow: string | null): Checked {
  const [checked, setChecked] = useState<Omit<Checked, "current"> & { files: File[] | null }>({ files: null, findings: [], more: false, error: null, schedules: null, plan: null });
  const number = useRef(0);
  useEffect(() => {
    const mine = ++number.current;
    const ask = async () => {
      try {
        const { findings, all, schedules, plan } = await answered(client.POST("/api/x/check", { body: { files: checkable(base, files), ...(workflow === null ? {} : { plan: workflow }) } }));
        if (mine !== number.current) return;
        setChecked((before) => {
          const kept = before.plan?.workflow === workflow ? before.plan : null; // keep the last valid plan
          return { files, findings, more: !all, error: null, schedules, plan: plan && workflow !== null ? { workflow, tasks: plan, current: true } : kept && { ...kept, current: false } };
        });
      } catch (error) {
        if (mine === number.current) setChecked((before) => ({ ...before, files, error }));
      }
    };
    const timer = setTimeout(() => void ask(), pause);
    return () => clearTimeout(timer);
  }, [base, files, workflow]);
  return { ...checked, current: checked.files === files };
}
