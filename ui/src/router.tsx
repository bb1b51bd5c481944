import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { overviewQuery } from "./api/queries";
import { Failure } from "./parts/feedback";
import { setting } from "./shell/settings";
import { Shell } from "./shell/shell";

type Search = Record<string, string>;

/** Search parameters are plain text, so that addresses are readable: no JSON, no quotes. */
const parseSearch = (text: string): Search => Object.fromEntries(new URLSearchParams(text));

function stringifySearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).filter((e): e is [string, string] => typeof e[1] === "string" && e[1] !== "");
  return given.length > 0 ? `?${new URLSearchParams(given)}` : "";
}

/** Selects the named parameters of a search. */
function only<K extends string>(...names: K[]) {
  return (search: Record<string, unknown>): { [name in K]?: string } =>
    Object.fromEntries(names.flatMap((n) => (typeof search[n] === "string" ? [[n, search[n]]] : []))) as { [name in K]?: string };
}

/** The time since which failures are shown; null for the last day. */
export const seenSetting = () => (setting("seen") === null ? null : Number(setting("seen")));

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Shell,
  errorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
  notFoundComponent: lazyRouteComponent(() => import("./pages/missing")),
});
const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  loader: ({ context }) => void context.queries.prefetchQuery(overviewQuery(seenSetting())),
  component: lazyRouteComponent(() => import("./pages/home")),
});
const sessions = createRoute({
  getParentRoute: () => root,
  path: "/sessions",
  validateSearch: only("project", "workflow", "state", "q"),
  component: lazyRouteComponent(() => import("./pages/sessions")),
});
const projects = createRoute({
  getParentRoute: () => root,
  path: "/projects",
  validateSearch: only("q"),
  component: lazyRouteComponent(() => import("./pages/projects")),
});
const project = createRoute({ getParentRoute: () => root, path: "/projects/$id", component: lazyRouteComponent(() => import("./pages/project")) });
const workflow = createRoute({
  getParentRoute: () => root,
  path: "/projects/$id/$workflow",
  validateSearch: only("tab", "q"),
  component: lazyRouteComponent(() => import("./pages/workflow")),
});
// Ids of projects are numbers, so these paths cannot be mistaken for a project or one of its workflows.
const made = createRoute({
  getParentRoute: () => root,
  path: "/projects/new",
  validateSearch: only("file"),
  component: lazyRouteComponent(() => import("./pages/new")),
});
const edit = createRoute({
  getParentRoute: () => root,
  path: "/projects/edit/$id",
  validateSearch: only("file", "start"),
  component: lazyRouteComponent(() => import("./pages/edit")),
});
const attempt = createRoute({
  getParentRoute: () => root,
  path: "/attempts/$id",
  validateSearch: only("task", "tab", "only", "q", "lines", "view", "at"),
  component: lazyRouteComponent(() => import("./pages/attempt")),
});
const admin = createRoute({
  getParentRoute: () => root,
  path: "/admin",
  validateSearch: only("tab", "project", "site", "queue", "pool"),
  component: lazyRouteComponent(() => import("./pages/admin")),
});

export function createAppRouter(queries: QueryClient) {
  return createRouter({
    routeTree: root.addChildren([home, sessions, projects, project, workflow, made, edit, attempt, admin]),
    context: { queries },
    parseSearch,
    stringifySearch,
    defaultPreload: "intent",
    scrollRestoration: true,
  });
}
