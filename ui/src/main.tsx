import { CSPProvider } from "@base-ui/react/csp-provider";
import { MutationCache, QueryClient, QueryClientProvider, useQuery, useQueryClient } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, useEffect, useRef } from "react";
import { createRoot } from "react-dom/client";
import "@fontsource-variable/geist/wght.css";
import "@fontsource-variable/geist-mono/wght.css";
import "./design/tokens.css";
import "./design/global.css";
import { onSignedOut, Refusal } from "./api/client";
import { type Session, sessionQuery } from "./api/session";
import { hearOtherTabs, tellChange } from "./api/tabs";
import { Failure } from "./parts/feedback";
import { createAppRouter } from "./router";
import { SignIn } from "./shell/signin";

/** Reports whether a repeated request may succeed: not after a decision of the server. */
const passing = (error: unknown) => !(error instanceof Refusal) || error.status === 0 || error.status >= 500;

const queries = new QueryClient({
  mutationCache: new MutationCache({ onSuccess: (_data, _variables, _context, mutation) => void tellChange(mutation.meta) }),
  defaultOptions: { queries: { retry: (n, error) => n < 2 && passing(error), staleTime: 5_000, networkMode: "always" } },
});
const router = createAppRouter(queries);

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

/** Shows the sign-in page to users who must sign in. */
function Gate() {
  const client = useQueryClient();
  const session = useQuery(sessionQuery);
  useEffect(
    () =>
      onSignedOut(() => {
        const known = client.getQueryData<Session>(sessionQuery.queryKey);
        if (known?.authenticated) void client.invalidateQueries({ queryKey: sessionQuery.queryKey });
      }),
    [client],
  );
  useEffect(() => hearOtherTabs(client), [client]);
  const who = session.data && (session.data.authenticated ? `in ${session.data.user}` : "out");
  const before = useRef(who);
  useEffect(() => {
    // A different user, who may have signed in on another tab, must not see data of the previous one.
    if (before.current !== undefined && before.current !== who) void client.resetQueries({ predicate: (q) => q.queryKey[0] !== sessionQuery.queryKey[0] });
    before.current = who;
  }, [client, who]);
  if (session.data?.authenticated) return <RouterProvider router={router} />;
  if (session.data) return <SignIn session={session.data} />;
  return session.error ? <Failure error={session.error} retry={() => void session.refetch()} /> : null;
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <Gate />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
