import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClient, QueryClientProvider, useQuery, useQueryClient } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, useEffect } from "react";
import { createRoot } from "react-dom/client";
import "@fontsource-variable/geist/wght.css";
import "@fontsource-variable/geist-mono/wght.css";
import "./design/tokens.css";
import "./design/global.css";
import { onSignedOut, Refusal } from "./api/client";
import { type Session, sessionQuery } from "./api/session";
import { Failure } from "./parts/feedback";
import { createAppRouter } from "./router";
import { SignIn } from "./shell/signin";

/** What may succeed when it is asked again: not what the server has decided. */
const passing = (error: unknown) => !(error instanceof Refusal) || error.status === 0 || error.status >= 500;

const queries = new QueryClient({
  defaultOptions: { queries: { retry: (n, error) => n < 2 && passing(error), staleTime: 5_000, networkMode: "always" } },
});
const router = createAppRouter(queries);

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

/** Lets nobody further who is to sign in first. */
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
