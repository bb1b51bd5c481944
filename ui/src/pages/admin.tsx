import { getRouteApi } from "@tanstack/react-router";
import { Audit } from "../admin/audit";
import { Letters } from "../admin/letters";
import { Limits } from "../admin/limits";
import { Pools } from "../admin/pools";
import { Queue } from "../admin/queue";
import { Secrets } from "../admin/secrets";
import { Sites } from "../admin/sites";
import { Tokens } from "../admin/tokens";
import { Refusal } from "../api/client";
import { useSession } from "../api/session";
import { Failure } from "../parts/feedback";
import { useKeys } from "../shell/keys";
import { useTitle } from "../shell/title";
import css from "../admin/admin.module.css";
import list from "./list.module.css";

const route = getRouteApi("/admin");

type Tab = "tokens" | "secrets" | "audit" | "pools" | "limits" | "queue" | "sites" | "letters";
const names: Record<Tab, string> = { tokens: "Tokens", secrets: "Secrets", audit: "Audit", pools: "Pools", limits: "Limits", queue: "Queue", sites: "Sites", letters: "Dead letters" };

/** Administration: tokens, secrets, the audit log, pools, limits, queues, sites and dead letters. */
export default function Admin() {
  const { rights } = useSession();
  useTitle("Admin");
  return (
    <div className={list.page}>
      <header className={list.head}>
        <h1>Admin</h1>
      </header>
      {rights.admin === true ? <Parts /> : <Failure error={new Refusal("This page requires the role admin.", 403, null)} />}
    </div>
  );
}

function Parts() {
  const { rights, aws } = useSession();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const owner = rights.owner === true;
  const tabs: Tab[] = ["tokens", "secrets", "audit", "pools", "limits", ...(owner ? (["queue", "sites"] as const) : []), ...(aws && owner ? (["letters"] as const) : [])];
  const asked = search.tab !== undefined && search.tab in names ? (search.tab as Tab) : "tokens";
  const tab = tabs.includes(asked) ? asked : null;
  const show = (t: Tab) => void navigate({ search: { tab: t === "tokens" ? undefined : t }, replace: true });
  useKeys(tabs.map((t, i) => ({ keys: String(i + 1), does: `Show ${names[t].toLowerCase()}`, run: () => show(t) })));
  return (
    <section className={list.panel} aria-label={names[asked]}>
      <nav className={css.tabs} aria-label="Sections">
        {tabs.map((t) => (
          <button key={t} type="button" aria-pressed={t === tab} onClick={() => show(t)}>
            {names[t]}
          </button>
        ))}
      </nav>
      {tab === "tokens" && <Tokens site={search.site ?? null} onSite={(site) => void navigate({ search: (s) => ({ ...s, site: site || undefined }), replace: true })} />}
      {tab === "secrets" && <Secrets project={search.project} onProject={(project) => void navigate({ search: (s) => ({ ...s, project }), replace: true })} />}
      {tab === "audit" && <Audit />}
      {tab === "pools" && <Pools open={search.pool} onOpen={(pool) => void navigate({ search: (s) => ({ ...s, pool }), replace: true })} />}
      {tab === "limits" && <Limits />}
      {tab === "queue" && <Queue queue={search.queue === "events" ? "events" : "tasks"} onQueue={(queue) => void navigate({ search: (s) => ({ ...s, queue: queue === "events" ? queue : undefined }), replace: true })} />}
      {tab === "sites" && <Sites onTokens={(site) => void navigate({ search: { site } })} />}
      {tab === "letters" && <Letters />}
      {tab === null && <Failure error={owner ? new Refusal("The queues of this server have no dead letters: only AWS deployments have them.", 404, null) : new Refusal("This page covers all sites, so it requires the role owner.", 403, null)} />}
    </section>
  );
}
