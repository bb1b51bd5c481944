import { Menu } from "@base-ui/react/menu";
import { useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useNavigate } from "@tanstack/react-router";
import { Check, Clock, Keyboard, LogOut, Monitor, Moon, Search, ShieldCheck, Sun, UserRound } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { sessionQuery, signOut, useRight, useSession } from "../api/session";
import { tellSession } from "../api/tabs";
import { useZoneMode, zoneModes } from "../parts/time";
import type { ZoneMode } from "../parts/zone";
import { Keys, useFinder, useHelp } from "./keys";
import { choose, type Theme, themes, useTheme } from "./settings";
import css from "./shell.module.css";

export function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden className={css.logo}>
      <path d="M16 5.5a10.5 10.5 0 1 1-8.2 3.9" fill="none" stroke="currentColor" strokeWidth="3.4" strokeLinecap="round" />
      <circle cx="8.6" cy="8.2" r="3.2" fill="currentColor" />
    </svg>
  );
}

const pages = [
  { to: "/", name: "Home", exact: true },
  { to: "/projects", name: "Projects", exact: false },
  { to: "/sessions", name: "Sessions", exact: false },
] as const;

/** The frame of every page: the bar, and errors if no server responds. */
export function Shell() {
  return (
    <Keys>
      <a href="#main" className={css.skip}>
        Skip to the content
      </a>
      <Bar />
      <Offline />
      <main id="main" className={css.main} tabIndex={-1}>
        <Outlet />
      </main>
    </Keys>
  );
}

function Bar() {
  const session = useSession();
  const admin = useRight("admin");
  const find = useFinder();
  return (
    <header className={css.bar}>
      <Link to="/" className={css.brand} aria-label="zerodag, home">
        <Logo />
        <span>zerodag</span>
        {session.site && <span className={css.site}>{session.site}</span>}
      </Link>
      <nav className={css.nav} aria-label="Pages">
        {pages.map((p) => (
          <Link key={p.to} to={p.to} activeOptions={{ exact: p.exact, includeSearch: false }} className={css.link} activeProps={{ "aria-current": "page" }}>
            {p.name}
          </Link>
        ))}
        {admin && (
          <Link to="/admin" activeOptions={{ includeSearch: false }} className={`${css.link} ${css.wide}`} activeProps={{ "aria-current": "page" }}>
            Admin
          </Link>
        )}
      </nav>
      <span className={css.space} />
      <button type="button" className={`${css.trigger} ${css.find}`} onClick={find} aria-label="Search and commands" aria-keyshortcuts="Control+K">
        <Search size={15} aria-hidden />
        <span>Search</span>
      </button>
      <ZoneMenu />
      <ThemeMenu />
      <PersonMenu />
    </header>
  );
}

const zoneNames: Record<ZoneMode, string> = { workflow: "Workflow time", browser: "Local time", utc: "UTC" };

function ZoneMenu() {
  const mode = useZoneMode();
  return (
    <Choice label={`Time zone: ${zoneNames[mode]}`} icon={<Clock size={15} aria-hidden />} text={zoneNames[mode]}>
      {zoneModes.map((m) => (
        <Item key={m} on={m === mode} onClick={() => choose("zone", m)}>
          {zoneNames[m]}
        </Item>
      ))}
    </Choice>
  );
}

const themeNames: Record<Theme, string> = { system: "Same as system", light: "Light", dark: "Dark" };
const themeIcons: Record<Theme, ReactNode> = { system: <Monitor size={15} aria-hidden />, light: <Sun size={15} aria-hidden />, dark: <Moon size={15} aria-hidden /> };

function ThemeMenu() {
  const theme = useTheme();
  return (
    <Choice label={`Theme: ${themeNames[theme]}`} icon={themeIcons[theme]}>
      {themes.map((t) => (
        <Item key={t} on={t === theme} onClick={() => choose("theme", t === "system" ? null : t)}>
          {themeNames[t]}
        </Item>
      ))}
    </Choice>
  );
}

function PersonMenu() {
  const session = useSession();
  const help = useHelp();
  const admin = useRight("admin");
  const navigate = useNavigate();
  const client = useQueryClient();
  const leave = () => void signOut().finally(() => (tellSession(), client.invalidateQueries({ queryKey: sessionQuery.queryKey })));
  return (
    <Choice label={session.user ? `Signed in as ${session.user}` : "Help"} icon={<UserRound size={15} aria-hidden />}>
      {session.user && <p className={css.note}>{session.user}</p>}
      {admin && (
        <Item onClick={() => void navigate({ to: "/admin" })} icon={<ShieldCheck size={14} aria-hidden />}>
          Admin
        </Item>
      )}
      <Item onClick={help} icon={<Keyboard size={14} aria-hidden />}>
        Keyboard shortcuts
      </Item>
      {session.methods.length > 0 && (
        <Item onClick={leave} icon={<LogOut size={14} aria-hidden />}>
          Sign out
        </Item>
      )}
      {session.version && <p className={css.note}>zerodag {session.version}</p>}
    </Choice>
  );
}

function Choice({ label, icon, text, children }: { label: string; icon: ReactNode; text?: string; children: ReactNode }) {
  return (
    <Menu.Root>
      <Menu.Trigger className={css.trigger} aria-label={label} title={label}>
        {icon}
        {text && <span>{text}</span>}
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={6} align="end" className={css.positioner}>
          <Menu.Popup className={css.menu}>{children}</Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

function Item({ on, icon, onClick, children }: { on?: boolean; icon?: ReactNode; onClick: () => void; children: ReactNode }) {
  return (
    <Menu.Item className={css.item} onClick={onClick}>
      <span className={css.check}>{on ? <Check size={14} aria-label="selected" /> : icon}</span>
      {children}
    </Menu.Item>
  );
}

/** Shows that the browser is offline; the current content stays. */
function Offline() {
  const [online, setOnline] = useState(navigator.onLine);
  useEffect(() => {
    const look = () => setOnline(navigator.onLine);
    window.addEventListener("online", look);
    window.addEventListener("offline", look);
    return () => {
      window.removeEventListener("online", look);
      window.removeEventListener("offline", look);
    };
  }, []);
  return online ? null : (
    <p className={css.offline} role="status">
      This browser is offline. The page may be out of date.
    </p>
  );
}
