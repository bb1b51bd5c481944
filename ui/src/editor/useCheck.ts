import { useEffect, useRef, useState } from "react";
import { answered, client, type Schemas } from "../api/client";
import type { Plan } from "./plan";
import { type Base, checkable, type File } from "./project";
import type { Scheduled } from "./scheduled";

export type Finding = Schemas["Findings"]["findings"][number];

/** How long somebody pauses before what is typed is checked, in milliseconds. */
const pause = 400;

type Checked = {
  findings: Finding[];
  /** The server told not all that it found. */
  more: boolean;
  /** The findings are those of the files as they are now. */
  current: boolean;
  /** Why the files could not be checked. */
  error: unknown;
  /** When workflows are to run; null where one of them cannot be read. */
  schedules: Scheduled[] | null;
  /** The tasks of the workflow that was asked for, as far as it could be read last, and whether that is the text as it is now. */
  plan: { workflow: string; tasks: Plan; current: boolean } | null;
};

/** What is wrong with the files, asked of the server when typing pauses. An answer that comes after a newer question is dropped. */
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
          const kept = before.plan?.workflow === workflow ? before.plan : null; // what cannot be read now could be a moment ago
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
