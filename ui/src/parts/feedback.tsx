import { CircleCheck, CloudOff, Lock, SearchX, TriangleAlert } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Refusal } from "../api/client";
import { Button } from "./button";
import css from "./feedback.module.css";

/** A placeholder in the final size. It becomes visible only if loading takes a while. */
export function Skeleton({ rows = 4, height = 44 }: { rows?: number; height?: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className={css.skeleton} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} style={{ height }}>
          {late && <span style={{ width: `${70 - ((i * 17) % 40)}%` }} />}
        </div>
      ))}
    </div>
  );
}

/** An empty state: a sentence, and optionally an action. */
export function Empty({ children, calm = false, action }: { children: ReactNode; calm?: boolean; action?: ReactNode }) {
  return (
    <div className={css.empty} data-calm={calm || undefined}>
      {calm && <CircleCheck size={22} aria-hidden />}
      <p>{children}</p>
      {action}
    </div>
  );
}

const icons: Record<number, ReactNode> = {
  0: <CloudOff size={20} aria-hidden />,
  403: <Lock size={20} aria-hidden />,
  404: <SearchX size={20} aria-hidden />,
};

/** An error with the message of the server, and a hint. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const refusal = error instanceof Refusal ? error : null;
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div className={css.failure} role="alert">
      {icons[refusal?.status ?? -1] ?? <TriangleAlert size={20} aria-hidden />}
      <div>
        <p>{message}</p>
        {refusal?.status === 403 && <p className={css.hint}>Ask the administrator of this server for a role with this permission.</p>}
        {refusal?.request && <p className={css.hint}>Request {refusal.request}</p>}
      </div>
      {retry && refusal?.status !== 404 && refusal?.status !== 403 && (
        <Button onClick={retry}>Try again</Button>
      )}
    </div>
  );
}

/** A query without data: a placeholder or an error. Outdated data stays on the page. */
export function Loading({ query, rows, height }: { query: { error: unknown; refetch: () => unknown }; rows?: number; height?: number }) {
  if (query.error) return <Failure error={query.error} retry={() => void query.refetch()} />;
  return <Skeleton {...(rows ? { rows } : {})} {...(height ? { height } : {})} />;
}
