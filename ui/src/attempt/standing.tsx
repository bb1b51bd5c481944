import type { Attempt, Schemas } from "../api/client";
import type { Task } from "../live/outline";
import { Time } from "../parts/time";
import css from "./standing.module.css";

type StandingProps = { attempt: Attempt; task: Task; detail: Schemas["Task"] };

/** Details beyond the state of a task: why it was skipped, that its error is ignored, the reason for waiting, and whether its log is incomplete. */
export function Standing(props: StandingProps) {
  return (
    <>
      {props.detail.logIncomplete && <p className={css.standing}>The log is incomplete because part of it could not be stored.</p>}
      <Reason {...props} />
    </>
  );
}

function Reason({ attempt, detail }: StandingProps) {
  if (detail.skipped) return <p className={css.standing}>Skipped: {detail.skipped}</p>;
  if (detail.ignoredError) return <p className={css.standing}>The task failed, but its error is ignored.</p>;
  if (detail.waiting) return <Waits attempt={attempt} waiting={detail.waiting} />;
  return null;
}

type Waiting = NonNullable<Schemas["Task"]["waiting"]>;

function Waits({ attempt, waiting }: { attempt: Attempt; waiting: Waiting }) {
  const { ahead, since } = waiting;
  return (
    <p className={css.standing} role="status">
      <What waiting={waiting} />
      {since && (
        <>
          , since <Time at={Date.parse(since)} of={attempt.sessionTime} form="full" />
        </>
      )}
      {ahead !== undefined && <b> · {ahead === 0 ? "next in line" : `${ahead} ahead`}</b>}
    </p>
  );
}

/** Texts for all reasons of the engine: the compiler reports a missing one. */
function What({ waiting: { reason, pool, slots, held } }: { waiting: Waiting }) {
  switch (reason) {
    case "start_time":
      return <>Waiting for its start time</>;
    case "turn":
      return (
        <>
          Waiting for its turn: <code>concurrency</code> of the workflow allows no more attempts
        </>
      );
    case "pause":
      return <>Waiting until the attempt is resumed</>;
    case "place":
      return <>Waiting for another task of the attempt to finish</>;
    case "slots":
      return (
        <>
          Waiting for {slots === 1 ? "a slot" : `${slots} slots`} of pool <code>{pool}</code>
          {held && ", which is held"}
        </>
      );
  }
}
