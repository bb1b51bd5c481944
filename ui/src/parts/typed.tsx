import { type ReactNode, useState } from "react";
import { Button } from "./button";
import { CommandLine } from "./command";
import { Dialog, DialogFoot } from "./dialog";
import { Failure } from "./feedback";
import css from "./form.module.css";

type Props = {
  title: string;
  /** The text that enables the button. */
  name: string;
  /** The label of the button. */
  action: string;
  line: string;
  /** The consequences. */
  children: ReactNode;
  change: { error: unknown; isPending: boolean; mutate: () => void };
  onClose: () => void;
};

/** Asks the user to type the name before a permanent deletion, to prevent mistakes. */
export function TypedDialog({ title, name, action, line, children, change, onClose }: Props) {
  const [typed, setTyped] = useState("");
  return (
    <Dialog open onClose={onClose} title={title}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (typed === name) change.mutate();
        }}
      >
        <div className={css.what}>{children}</div>
        <label className={css.field}>
          <span>
            Type <code>{name}</code> to confirm
          </span>
          <input value={typed} onChange={(e) => setTyped(e.target.value)} autoComplete="off" spellCheck={false} autoCapitalize="off" />
        </label>
        <CommandLine line={line} />
        {change.error !== null && <Failure error={change.error} />}
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" type="submit" disabled={typed !== name || change.isPending}>
            {action}
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}
