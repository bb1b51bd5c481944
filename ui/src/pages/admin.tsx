import { getRouteApi } from "@tanstack/react-router";
import { Aside } from "../admin/aside";
import { Audit } from "../admin/audit";
import { Secrets } from "../admin/secrets";
import { Tokens } from "../admin/tokens";
import { Refusal } from "../api/client";
import { useSession } from "../api/session";
import { Failure } from "../parts/feedback";
import { useKeys } from "../shell/keys";
import { useTitle } from "../shell/title";
import css from "../admin/admin.module.css";
import list from "./list.module.css";

const route = getRouteApi("/admin");

type Tab = "tokens" | "secrets" | "audit" | "aside";
const names: Record<Tab, string> = { tokens: "Tokens", secrets: "Secrets", audit: "Audit", aside: "Put aside" };

/** What somebody looks after who has the right to: who gets in, what tasks may use, what was done, what got stuck. */
export default function Admin() {
  const { rights } = useSession();
  useTitle("Admin");
  return (
    <div className={list.page}>
      <header className={list.head}>
        <h1>Admin</h1>
      </header>
      {rights.admin === true ? <Parts /> : <Failure error={new Refusal("This page is for those who have the role admin.", 403, null)} />}
    </div>
  );
}

function Parts() {
  const { rights, aws } = useSession();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const tabs: Tab[] = ["tokens", "secrets", "audit", ...(aws && rights.owner === true ? ["aside" as const] : [])];
  const tab = tabs.find((t) => t === search.tab) ?? "tokens";
  const show = (t: Tab) => void navigate({ search: { tab: t === "tokens" ? undefined : t }, replace: true });
  useKeys(tabs.map((t, i) => ({ keys: String(i + 1), does: `Show ${names[t].toLowerCase()}`, run: () => show(t) })));
  return (
    <section className={list.panel} aria-label={names[tab]}>
      <nav className={css.tabs} aria-label="Parts of this page">
        {tabs.map((t) => (
          <button key={t} type="button" aria-pressed={t === tab} onClick={() => show(t)}>
            {names[t]}
          </button>
        ))}
      </nav>
      {tab === "tokens" && <Tokens site={search.site ?? null} onSite={(site) => void navigate({ search: (s) => ({ ...s, site: site || undefined }), replace: true })} />}
      {tab === "secrets" && <Secrets project={search.project} onProject={(project) => void navigate({ search: (s) => ({ ...s, project }), replace: true })} />}
      {tab === "audit" && <Audit />}
      {tab === "aside" && <Aside />}
    </section>
  );
}
