import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Check, Copy, KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { useSession } from "../api/session";
import { Button } from "../parts/button";
import { CommandLine } from "../parts/command";
import { commands } from "../parts/commands";
import { Dialog, DialogFoot } from "../parts/dialog";
import { Empty, Failure, Loading } from "../parts/feedback";
import { Field } from "../parts/field";
import form from "../parts/form.module.css";
import { Distance, Time } from "../parts/time";
import { TypedDialog } from "../parts/typed";
import { useKeys } from "../shell/keys";
import css from "./admin.module.css";
import { makeToken, revokeToken, type Role, roles, type Token, tokensQuery } from "./queries";

/** The bearer tokens of a site; owners of the server choose the site. */
export function Tokens({ site, onSite }: { site: string | null; onSite: (site: string) => void }) {
  const query = useQuery(tokensQuery(site));
  const owner = useSession().rights.owner === true;
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Token | null>(null);
  useKeys([
    { keys: "n", does: "Create a token", run: () => setMaking(true) },
    { keys: "Delete", does: "Revoke the focused token", focused: true, run: () => setRevoking(query.data?.tokens.find((t) => t.id === focusedToken()) ?? null) },
  ]);
  return (
    <>
      <header className={css.tools}>
        <p>A token gives a program access with a role. Only its hash is stored.</p>
        {owner && (
          <label className={css.site}>
            Site
            <input inputMode="numeric" value={site ?? ""} placeholder="own" onChange={(e) => /^[0-9]{0,9}$/.test(e.target.value) && onSite(e.target.value)} />
          </label>
        )}
        <Button look="main" onClick={() => setMaking(true)}>
          <Plus size={14} aria-hidden /> Create a token
        </Button>
      </header>
      {!query.data && <Loading query={query} rows={4} />}
      {query.data?.tokens.length === 0 && <Empty>This site has no tokens.</Empty>}
      {query.data && query.data.tokens.length > 0 && <List tokens={query.data.tokens} onRevoke={setRevoking} />}
      {making && <MakeDialog site={site} onClose={() => setMaking(false)} />}
      {revoking && <RevokeDialog token={revoking} site={site} onClose={() => setRevoking(null)} />}
    </>
  );
}

/** The id of the token whose row has the focus. */
const focusedToken = () => document.activeElement?.closest<HTMLElement>("[data-token]")?.dataset.token;

function List({ tokens, onRevoke }: { tokens: Token[]; onRevoke: (token: Token) => void }) {
  return (
    <table className={css.table}>
      <thead>
        <tr>
          <th>Name</th>
          <th>Role</th>
          <th>Site</th>
          <th>Projects</th>
          <th>Created</th>
          <th>Expires</th>
          <th>Last used</th>
          <th aria-label="Actions" />
        </tr>
      </thead>
      <tbody>
        {tokens.map((t) => (
          <tr key={t.id} data-token={t.id}>
            <th scope="row">{t.name}</th>
            <td data-label="Role">{t.role}</td>
            <td data-label="Site">{t.site}</td>
            <td data-label="Projects">{t.projects?.join(", ") ?? "all"}</td>
            <td data-label="Created">
              <Time at={Date.parse(t.createdAt)} form="short" />
            </td>
            <td data-label="Expires">{t.expired ? "expired" : t.expiresAt === null ? "never" : <Distance at={Date.parse(t.expiresAt)} />}</td>
            <td data-label="Last used">{t.lastUsedAt === null ? "never" : <Distance at={Date.parse(t.lastUsedAt)} />}</td>
            <td>
              <Button onClick={() => onRevoke(t)} aria-label={`Revoke ${t.name}`} data-row>
                Revoke…
              </Button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The instant so many days from now, as the API reads it. */
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

const may: Record<Role, string> = {
  metrics: "can read the metrics of all sites, and nothing else",
  viewer: "can read everything except the names of secrets",
  operator: "can also start, retry and kill attempts, and change schedules",
  developer: "can also push and delete projects, whose workflows can use the project's secrets",
  admin: "can also set secrets, pools and tokens",
  owner: "can also manage the whole server and all sites",
};

/** The roles that a caller may grant. Those that reach all sites are for owners; null is a caller without a login. */
const grantable = (own: Role | null) => (own === null || own === "owner" ? roles : roles.slice(roles.indexOf("viewer"), roles.indexOf(own) + 1));

/** Roles that act on all sites, so that their tokens cannot be limited to projects. */
const everywhere: Role[] = ["metrics", "owner"];

/** Creates a token and shows its text, which exists only in this dialog. */
function MakeDialog({ site, onClose }: { site: string | null; onClose: () => void }) {
  const queries = useQueryClient();
  const own = useSession().role;
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [days, setDays] = useState(0);
  const [projectList, setProjectList] = useState("");
  const projects = everywhere.includes(role) ? [] : projectList.split(",").map((p) => p.trim()).filter((p) => p !== "");
  const make = useMutation({
    gcTime: 0,
    mutationFn: () => makeToken({ name, role, projects, ...(days > 0 && { expiresAt: inDays(days) }) }, site),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["tokens"] }),
  });
  if (make.data) {
    return (
      <Dialog open onClose={onClose} title={`Token ${make.data.name}`}>
        <Made text={make.data.token} />
        {make.data.warnings.map((w) => (
          <p key={w} className={form.what}>
            Note: {w}.
          </p>
        ))}
        <DialogFoot>
          <Button look="main" onClick={onClose}>
            Done
          </Button>
        </DialogFoot>
      </Dialog>
    );
  }
  return (
    <Dialog open onClose={onClose} title="Create a token">
      <form
        onSubmit={(e) => {
          e.preventDefault();
          make.mutate();
        }}
      >
        <Field label="Name" hint="The user or program that uses the token. The audit log shows this name.">
          {(input) => <input {...input} value={name} required maxLength={255} onChange={(e) => setName(e.target.value)} autoComplete="off" spellCheck={false} />}
        </Field>
        <Field label="Role" hint={`The token ${may[role]}.`}>
          {(input) => (
            <select {...input} value={role} onChange={(e) => setRole(e.target.value as Role)}>
              {grantable(own).map((r) => (
                <option key={r}>{r}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Expires" hint="From then on the token is rejected.">
          {(input) => (
            <select {...input} value={days} onChange={(e) => setDays(Number(e.target.value))}>
              <option value={0}>never</option>
              {[30, 90, 365].map((n) => (
                <option key={n} value={n}>
                  in {n} days
                </option>
              ))}
            </select>
          )}
        </Field>
        {!everywhere.includes(role) && (
          <Field label="Projects" hint="The only projects that the token may use, separated by commas. Empty: all projects of the site.">
            {(input) => <input {...input} value={projectList} onChange={(e) => setProjectList(e.target.value)} autoComplete="off" spellCheck={false} />}
          </Field>
        )}
        <CommandLine line={commands.makeToken(name || "NAME", role, site, days, projects)} />
        {make.error && <Failure error={make.error} />}
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" disabled={name === "" || make.isPending}>
            Create
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

function Made({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <>
      <p className={form.what}>Copy the token now. It cannot be shown again, because the server does not store it.</p>
      <div className={css.made}>
        <KeyRound size={15} aria-hidden />
        <code tabIndex={0} aria-label="New token">
          {text}
        </code>
        <Button onClick={() => void navigator.clipboard?.writeText(text).then(() => setCopied(true))}>
          {copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />} {copied ? "Copied" : "Copy"}
        </Button>
      </div>
    </>
  );
}

function RevokeDialog({ token, site, onClose }: { token: Token; site: string | null; onClose: () => void }) {
  const queries = useQueryClient();
  const { user } = useSession();
  const revoke = useMutation({
    mutationFn: () => revokeToken(token.id, site),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["tokens"] });
      onClose();
    },
  });
  return (
    <TypedDialog title="Revoke a token" name={token.name} action="Revoke" line={commands.revokeToken(token.id, site)} change={revoke} onClose={onClose}>
      <p>
        Programs that use <b>{token.name}</b> will be rejected, and browsers that signed in with it will be signed out. This cannot be undone.{" "}
        {token.lastUsedAt === null ? (
          "The token was never used."
        ) : (
          <>
            The token was last used about <Distance at={Date.parse(token.lastUsedAt)} />.
          </>
        )}
      </p>
      {user === token.name && <p>You are signed in with this name: you may lock yourself out.</p>}
    </TypedDialog>
  );
}
