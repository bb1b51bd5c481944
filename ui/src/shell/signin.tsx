import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { type Session, sessionQuery, signIn } from "../api/session";
import { tellSession } from "../api/tabs";
import { Button, buttonClass } from "../parts/button";
import { Logo } from "./shell";
import css from "./signin.module.css";
import { useTitle } from "./title";

/** The sign-in page. It replaces the requested page, which is shown after signing in. */
export function SignIn({ session }: { session: Session }) {
  useTitle("Sign in");
  const back = location.pathname + location.search;
  const forms = session.methods.filter((m) => m !== "oidc");
  return (
    <main className={css.page}>
      <div className={css.card}>
        <h1 className={css.title}>
          <Logo /> zerodag {session.site && <span>{session.site}</span>}
        </h1>
        {session.problem && (
          <p className={css.error} role="alert">
            {session.problem}
          </p>
        )}
        {session.oidc && (
          <a className={`${buttonClass("main")} ${css.wide}`} href={`${session.oidc.url}?return=${encodeURIComponent(back)}`}>
            Continue with {session.oidc.name}
          </a>
        )}
        {forms.map((m, i) => (
          <div key={m}>
            {(i > 0 || session.oidc) && <p className={css.or}>or</p>}
            {m === "token" ? <TokenForm /> : <PasswordForm />}
          </div>
        ))}
        {session.methods.length === 0 && <p className={css.hint}>This server accepts only requests from programs: signing in with a browser is not possible.</p>}
      </div>
    </main>
  );
}

function useSignIn() {
  const client = useQueryClient();
  const [state, setState] = useState({ busy: false, error: "" });
  const send = async (credentials: Parameters<typeof signIn>[0]) => {
    setState({ busy: true, error: "" });
    try {
      const session = await signIn(credentials);
      await client.cancelQueries();
      client.removeQueries({ predicate: (q) => q.queryKey[0] !== "session" });
      client.setQueryData(sessionQuery.queryKey, session);
      tellSession();
    } catch (error) {
      setState({ busy: false, error: error instanceof Error ? error.message : String(error) });
    }
  };
  return { ...state, send };
}

function TokenForm() {
  const { busy, error, send } = useSignIn();
  const submit = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    void send({ token: String(new FormData(e.currentTarget).get("token")).trim() });
  };
  return (
    <form onSubmit={submit} className={css.form}>
      <Field label="Token" name="token" type="password" autoComplete="off" />
      <End busy={busy} error={error} />
    </form>
  );
}

function PasswordForm() {
  const { busy, error, send } = useSignIn();
  const submit = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const data = new FormData(e.currentTarget);
    void send({ user: String(data.get("user")), password: String(data.get("password")) });
  };
  return (
    <form onSubmit={submit} className={css.form}>
      <Field label="User" name="user" type="text" autoComplete="username" />
      <Field label="Password" name="password" type="password" autoComplete="current-password" />
      <End busy={busy} error={error} />
    </form>
  );
}

function Field({ label, ...rest }: { label: string; name: string; type: string; autoComplete: string }) {
  return (
    <label className={css.field}>
      {label}
      <input {...rest} required spellCheck={false} />
    </label>
  );
}

function End({ busy, error }: { busy: boolean; error: string }) {
  return (
    <>
      {error && (
        <p className={css.error} role="alert">
          {error}
        </p>
      )}
      <Button look="main" type="submit" disabled={busy} className={css.wide ?? ""}>
        Sign in
      </Button>
    </>
  );
}
