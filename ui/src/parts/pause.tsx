import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { useState } from "react";
import { Button } from "./button";
import { CommandLine } from "./command";
import { Dialog, DialogFoot } from "./dialog";
import { Failure } from "./feedback";
import { Field } from "./field";
import css from "./pause.module.css";

/** The user who paused something, and the reason. */
export function Paused({ paused }: { paused: { by: string; reason: string } }) {
  return (
    <>
      paused by {paused.by || "an unknown user"}
      {paused.reason && `: ${paused.reason}`}
    </>
  );
}

interface PauseDialogProps {
  title: string;
  /** Explains the effect of a pause. */
  what: string;
  /** The equivalent command. */
  line: string;
  send: (reason: string) => Promise<unknown>;
  /** The key of the query that shows the pause. */
  shown: string[];
  onClose: () => void;
}

/** Asks for a reason, then pauses. */
export function PauseDialog({ title, what, line, send, shown, onClose }: PauseDialogProps) {
  const queries = useQueryClient();
  const [reason, setReason] = useState("");
  const pause = useMutation({
    mutationFn: () => send(reason),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: shown });
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title={title}>
      <p className={css.what}>{what}</p>
      <Field label="Why" hint="Other users see this reason.">
        {(input) => <input {...input} value={reason} maxLength={1000} onChange={(e) => setReason(e.target.value)} autoComplete="off" />}
      </Field>
      <CommandLine line={line} />
      {pause.error && <Failure error={pause.error} />}
      <DialogFoot>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="main" disabled={pause.isPending} onClick={() => pause.mutate()}>
          Pause
        </Button>
      </DialogFoot>
    </Dialog>
  );
}

/** Resumes something that is paused. */
export function UnpauseButton({ send, shown }: { send: () => Promise<unknown>; shown: string[] }) {
  const queries = useQueryClient();
  const unpause = useMutation({ mutationFn: send, onSuccess: () => void queries.invalidateQueries({ queryKey: shown }) });
  return (
    <Button look="main" disabled={unpause.isPending} onClick={() => unpause.mutate()}>
      <Play size={14} aria-hidden /> Resume
    </Button>
  );
}
