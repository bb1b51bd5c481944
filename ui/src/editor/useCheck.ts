import { useEffect, useRef, useState } from "react";
import { answered, client, type Schemas } from "../api/client";
import { type Base, checkable, type File } from "./project";

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
};

/** What is wrong with the files, asked of the server when typing pauses. An answer that comes after a newer question is dropped. */
export function useCheck(base: Base, files: File[]): Checked {
  const [checked, setChecked] = useState<Omit<Checked, "current"> & { files: File[] | null }>({ files: null, findings: [], more: false, error: null });
  const number = useRef(0);
  useEffect(() => {
    const mine = ++number.current;
    const ask = async () => {
      try {
        const { findings, all } = await answered(client.POST("/api/x/check", { body: { files: checkable(base, files) } }));
        if (mine === number.current) setChecked({ files, findings, more: !all, error: null });
      } catch (error) {
        if (mine === number.current) setChecked((before) => ({ ...before, files, error }));
      }
    };
    const timer = setTimeout(() => void ask(), pause);
    return () => clearTimeout(timer);
  }, [base, files]);
  return { ...checked, current: checked.files === files };
}
