import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Check, Undo2 } from "lucide-react";
import { useState } from "react";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Dialog, DialogFoot } from "../parts/dialog";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Distance, Time } from "../parts/time";
import css from "./admin.module.css";
import { type Letter, type LetterBody, letterQuery, lettersQuery, redrive, redriveOne } from "./queries";
import { AttemptOf, tasksOf, whatOf } from "./subject";

const messages = (n: number) => (n === 1 ? "one message" : `${n.toLocaleString("en")} messages`);

/** Lists dead letters of the AWS queues and sends them back. */
export function Letters() {
  const query = useQuery(lettersQuery);
  const queries = useQueryClient();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [shown, setShown] = useState<string | null>(null);
  const letters = query.data?.letters ?? [];
  const picked = letters.filter((l) => chosen.has(l.id));
  const send = useMutation({
    // Sequentially: each call reads all dead letters, which are hidden from other calls meanwhile.
    mutationFn: async (list: Letter[]) => {
      if (list.length === 0) return redrive();
      let messages = 0;
      for (const l of list) messages += (await redriveOne(l.id)).messages;
      return { messages };
    },
    onSettled: () => {
      setChosen(new Set());
      void queries.invalidateQueries({ queryKey: ["letters"] });
    },
  });
  const sent = send.data?.messages;
  const choose = (id: string) => setChosen((before) => new Set(before.has(id) ? [...before].filter((x) => x !== id) : [...before, id]));
  return (
    <>
      <header className={css.tools}>
        <p>
          A message that functions failed to handle several times becomes a dead letter, and its attempt waits. Dead letters are sent back automatically, at increasing intervals. After you fix the cause, you
          can send them back immediately. No task runs twice because of this.
        </p>
        <Button look="main" disabled={send.isPending || !query.data || (letters.length === 0 && query.data.all)} onClick={() => send.mutate(picked)}>
          <Undo2 size={14} aria-hidden /> {picked.length > 0 ? `Send ${messages(picked.length)} back` : "Send all back"}
        </Button>
      </header>
      {!query.data && <Loading query={query} rows={5} />}
      {send.error && <Failure error={send.error} />}
      {sent !== undefined && (
        <p role="status" className={css.told}>
          {sent === 0 ? "There are no dead letters." : `${sent === 1 ? "One message was" : `${messages(sent)} were`} sent back.`}
        </p>
      )}
      {query.data && letters.length === 0 && sent === undefined && <Empty calm>There are no dead letters.</Empty>}
      {letters.length > 0 && <List letters={letters} chosen={chosen} onChoose={choose} onShow={setShown} />}
      {query.data && !query.data.all && <p className={css.note}>More dead letters exist: they appear here after some of these are sent back.</p>}
      {query.data && query.error && <Loading query={query} />}
      <div className={css.foot}>
        <CommandLine line={commands.redrive(picked.map((l) => l.id))} />
        <CommandLine line={commands.letters()} />
      </div>
      {shown !== null && <LetterDialog id={shown} onClose={() => setShown(null)} />}
    </>
  );
}

type ListProps = { letters: Letter[]; chosen: ReadonlySet<string>; onChoose: (id: string) => void; onShow: (id: string) => void };

function List({ letters, chosen, onChoose, onShow }: ListProps) {
  return (
    <table className={css.table}>
      <thead>
        <tr>
          <th aria-label="Select" />
          <th>Message</th>
          <th>Attempt</th>
          <th>Tasks</th>
          <th>Sent</th>
          <th>Sent back</th>
          <th aria-label="Actions" />
        </tr>
      </thead>
      <tbody>
        {letters.map((l) => (
          <tr key={l.id} data-chosen={chosen.has(l.id) || undefined}>
            <td className={css.pick}>
              <button type="button" role="checkbox" aria-checked={chosen.has(l.id)} aria-label={`Select message ${l.name || l.id}`} onClick={() => onChoose(l.id)} data-row>
                {chosen.has(l.id) && <Check size={13} aria-hidden />}
              </button>
            </td>
            <th scope="row">
              {whatOf(l)}
              {l.broken !== null && <small>{l.broken}</small>}
            </th>
            <td data-label="Attempt" data-none={l.attempt === null || undefined}>
              <AttemptOf subject={l} />
            </td>
            <td data-label="Tasks" data-none={l.count === 0 || undefined}>{tasksOf(l) || "–"}</td>
            <td data-label="Sent" className={css.when}>
              <Distance at={l.sent} />
            </td>
            <td data-label="Sent back">{l.returned === 0 ? "never" : l.returned === 1 ? "once" : `${l.returned} times`}</td>
            <td>
              <Button onClick={() => onShow(l.id)} aria-label={`View message ${l.name || l.id}`}>
                View…
              </Button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function LetterDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useQuery(letterQuery(id));
  const queries = useQueryClient();
  const send = useMutation({
    mutationFn: () => redriveOne(id),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["letters"] });
      onClose();
    },
  });
  const l = query.data;
  return (
    <Dialog open onClose={onClose} title="Dead letter">
      <div className={css.letter}>
        {!l && <Loading query={query} rows={4} />}
        {l && <Said letter={l} />}
        <CommandLine line={commands.letter(id)} />
        <CommandLine line={commands.redrive([id])} />
        {send.error && <Failure error={send.error} />}
      </div>
      <DialogFoot>
        <Button onClick={onClose}>Close</Button>
        <Button look="main" disabled={!l || send.isPending} onClick={() => send.mutate()}>
          Send back
        </Button>
      </DialogFoot>
    </Dialog>
  );
}

/** The visible content of a message. */
function Said({ letter: l }: { letter: LetterBody }) {
  return (
    <>
      <p>
        From <b>{l.queue}</b>, sent <Time at={l.sent} form="full" />, {l.size.toLocaleString("en")} bytes, received {l.deliveries.toLocaleString("en")} times.
      </p>
      {l.broken !== null && <p>It cannot be read: {l.broken}.</p>}
      {l.body !== null && (
        <pre className={css.body} tabIndex={0} aria-label="Content of the message">
          {JSON.stringify(l.body, null, 2)}
        </pre>
      )}
    </>
  );
}
