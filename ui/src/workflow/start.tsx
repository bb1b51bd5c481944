import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { answered, client, Refusal } from "../api/client";
import { attemptName } from "../attempt/name";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Dialog, DialogFoot } from "../parts/dialog";
import { Failure } from "../parts/feedback";
import { SessionTime, Time, useNow } from "../parts/time";
import { formOf, given } from "./declared";
import { ParameterFields } from "./fields";
import { readParams, utcTime, zonedTime } from "./params";
import { lastTimeQuery, type Schedule, type Workflow } from "./queries";
import css from "./start.module.css";

type When = "now" | "last" | "pick";
type Props = { workflow: Workflow; schedule: Schedule | null; onClose: () => void };

/** Asks for the session and the parameters of a start, and starts the workflow. */
export function StartDialog({ workflow, schedule, onClose }: Props) {
  const [when, setWhen] = useState<When>("now");
  const [picked, setPicked] = useState("");
  const [begins, setBegins] = useState("");
  const [text, setText] = useState("");
  const [again, setAgain] = useState(false);
  const [another] = useState(attemptName);
  const name = useId();
  const now = useNow();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const last = useQuery({ ...lastTimeQuery(schedule?.id ?? ""), enabled: schedule !== null });
  const form = formOf(workflow.config);
  const [filled, setFilled] = useState<Record<string, string>>({});
  const declared = given(form?.fields ?? [], filled);
  const others = readParams(text);
  const params = others.params && declared.params ? { params: { ...others.params, ...declared.params }, error: null } : { params: null, error: others.error ?? declared.error };
  const unknown = Object.keys(others.params ?? {}).filter((name) => !form?.fields.some((field) => field.name === name));
  const session = when === "now" ? utcTime(now) : when === "last" ? last.data : picked && zonedTime(picked, workflow.timezone);
  const at = begins && zonedTime(begins, workflow.timezone);
  const start = useMutation({
    mutationFn: (sessionTime: string) =>
      answered(client.PUT("/api/attempts", { body: { workflowId: workflow.id, sessionTime, params: params.params ?? {}, retryAttemptName: again ? another : null, at: at || null } })),
    onSuccess: async (attempt) => {
      void queries.invalidateQueries();
      onClose();
      await navigate({ to: "/attempts/$id", params: { id: attempt.id } });
    },
    onError: (error) => {
      if (error instanceof Refusal && error.status === 409) setAgain(true);
    },
  });
  const line = commands.startWith(workflow.project.name, workflow.name, when === "now" ? "now" : (session ?? ""), params.params ?? {}, again ? another : null, at);
  return (
    <Dialog open onClose={onClose} title={`Start ${workflow.name}`}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (session && params.params) start.mutate(session);
        }}
      >
        <fieldset className={css.choice}>
          <legend>Session</legend>
          <Choice name={name} on={when === "now"} choose={() => setWhen("now")} says="Now" detail={<Time at={now} of={schedule?.nextScheduleTime} form="full" />} />
          {schedule && last.data !== null && (
            <Choice name={name} on={when === "last"} choose={() => setWhen("last")} says="Last session of the schedule" detail={last.data ? <SessionTime text={last.data} /> : "…"} />
          )}
          <Choice
            name={name}
            on={when === "pick"}
            choose={() => setWhen("pick")}
            says="Custom time"
            detail={
              <input type="datetime-local" step={1} value={picked} aria-label={`Session time in ${workflow.timezone}`} onFocus={() => setWhen("pick")} onChange={(e) => setPicked(e.target.value)} />
            }
          />
        </fieldset>
        <fieldset className={css.choice}>
          <legend>Start</legend>
          <label>
            <input type="datetime-local" step={1} value={begins} aria-label={`Start time in ${workflow.timezone}`} onChange={(e) => setBegins(e.target.value)} />
            <span>
              <small>{begins ? "The attempt is created now and starts then" : "Immediately, unless you set a time"}</small>
            </span>
          </label>
        </fieldset>
        {form && <ParameterFields fields={form.fields} filled={filled} fill={(name, value) => setFilled((was) => ({ ...was, [name]: value }))} />}
        {!form?.closed && (
          <label className={css.params}>
            {form ? "Other parameters" : "Parameters"}
            <textarea rows={form ? 2 : 4} spellCheck={false} placeholder='{"day": "2026-11-23"}' value={text} onChange={(e) => setText(e.target.value)} aria-invalid={others.error !== null} />
            {others.error && <small role="alert">{others.error}</small>}
            {form && unknown.length > 0 && <small role="status">The workflow does not declare {unknown.join(", ")}.</small>}
          </label>
        )}
        {declared.error && Object.keys(filled).length > 0 && <small className={css.wrong} role="alert">{declared.error}</small>}
        <CommandLine line={line} />
        {again ? (
          <p className={css.exists} role="alert">
            A session with this time exists. Another attempt of this session runs all its tasks again.
          </p>
        ) : (
          start.error && <Failure error={start.error} />
        )}
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" disabled={!session || params.error !== null || start.isPending}>
            {again ? "Start another attempt" : "Start"}
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

function Choice({ name, on, choose, says, detail }: { name: string; on: boolean; choose: () => void; says: string; detail: React.ReactNode }) {
  return (
    <label>
      <input type="radio" name={name} checked={on} onChange={choose} />
      <span>
        {says} <small>{detail}</small>
      </span>
    </label>
  );
}
