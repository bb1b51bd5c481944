import { useMutation } from "@tanstack/react-query";
import { Undo2 } from "lucide-react";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Failure } from "../parts/feedback";
import css from "./admin.module.css";
import { redrive } from "./queries";

/** The messages that the queues of AWS have put aside, and what sends them back. */
export function Aside() {
  const send = useMutation({ mutationFn: redrive });
  const many = send.data?.messages;
  return (
    <div className={css.aside}>
      <p>
        A message that no function could handle several times is put aside, so that it does not stand in the way of others: the attempt that it is for waits. They are sent back by themselves, ever more
        slowly. When what was in the way is mended, send them back now. It is safe at any time: nothing runs twice for it.
      </p>
      <CommandLine line={commands.redrive()} />
      <Button look="main" disabled={send.isPending} onClick={() => send.mutate()}>
        <Undo2 size={14} aria-hidden /> Send them back
      </Button>
      {send.error && <Failure error={send.error} />}
      {many !== undefined && <p role="status">{many === 0 ? "No message was put aside." : many === 1 ? "One message was sent back." : `${many.toLocaleString("en")} messages were sent back.`}</p>}
    </div>
  );
}
