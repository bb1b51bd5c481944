import { Dialog as Base } from "@base-ui/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { searchQuery } from "../api/queries";
import { useRight, useSession } from "../api/session";
import overlay from "../parts/overlay.module.css";
import type { Key } from "../shell/key";
import { choose, setting } from "../shell/settings";
import { actionsOf, type Choice, foundGroups, type Group, groupsOf, pagesOf, readRecent, withRecent, writeRecent } from "./choices";
import css from "./palette.module.css";

/** How long to wait after typing before a search, in milliseconds. */
const pause = 120;

/** The maximum length of a search text in the API. */
const longest = 255;

/** A debounced text. */
function useCalm(text: string): string {
  const [calm, setCalm] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setCalm(text), pause);
    return () => clearTimeout(timer);
  }, [text]);
  return calm;
}

type Props = { keys: Key[]; onClose: () => void };

/** The command palette: finds resources by part of their name or by number, and runs actions of the page. */
export function Palette({ keys, onClose }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const [shown, setShown] = useState(true);
  const after = useRef(() => {});
  return (
    <Base.Root
      open={shown}
      onOpenChange={(now) => !now && setShown(false)}
      onOpenChangeComplete={(now) => {
        if (now) return;
        onClose();
        after.current(); // after closing: the focus returns first, and the action may move it
      }}
    >
      <Base.Portal>
        <Base.Backdrop className={overlay.backdrop} />
        <Base.Popup className={`${overlay.popup} ${css.popup}`} initialFocus={field} aria-label="Command palette">
          <Finder
            keys={keys}
            field={field}
            done={(then) => {
              after.current = then;
              setShown(false);
            }}
          />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

type FinderProps = { keys: Key[]; field: React.RefObject<HTMLInputElement | null>; done: (then: () => void) => void };

function Finder({ keys, field, done }: FinderProps) {
  const router = useRouter();
  const { user } = useSession();
  const admin = useRight("admin");
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const wanted = text.trim();
  const calm = useCalm(wanted);
  const query = useQuery(searchQuery(calm));
  const looking = wanted !== "" && (wanted !== calm || query.isPending);
  const recent = readRecent(setting("recent"), user);
  const groups = groupsOf(wanted, recent, pagesOf(admin), actionsOf(keys), looking || !query.data ? [] : foundGroups(query.data));
  const all = groups.flatMap((g) => g.choices);
  const here = all[Math.min(at, all.length - 1)];
  const idOf = (c: Choice) => `${list}-${all.indexOf(c)}`;
  const take = (c: Choice) => {
    if ("run" in c) return done(c.run);
    choose("recent", writeRecent(user, withRecent(recent, c)));
    done(() => router.history.push(c.path));
  };
  useEffect(() => {
    document.querySelector(`[id="${list}"] [aria-selected="true"]`)?.scrollIntoView({ block: "nearest" });
  }, [list, here?.id]);
  const press = (e: KeyboardEvent) => {
    const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (Math.min(at, all.length - 1) + all.length - 1) % all.length }[e.key];
    if (e.key === "Enter" && here) take(here);
    else if (to !== undefined && all.length > 0) setAt(to);
    else return;
    e.preventDefault();
  };
  return (
    <>
      <div className={css.field}>
        <Search size={17} aria-hidden />
        <input
          ref={field}
          role="combobox"
          aria-label="Command palette"
          aria-expanded={all.length > 0}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={here ? idOf(here) : undefined}
          placeholder="Name, +task, number or command"
          value={text}
          maxLength={longest}
          spellCheck={false}
          autoComplete="off"
          onChange={(e) => {
            setText(e.target.value);
            setAt(0);
          }}
          onKeyDown={press}
        />
        <kbd aria-hidden>Esc</kbd>
      </div>
      <Listed id={list} groups={groups} here={here} idOf={idOf} take={take} />
      <p className={css.note} role="status">
        {looking ? "Searching…" : query.error ? `Search failed: ${query.error.message}` : wanted !== "" && all.length === 0 ? "No matches. The search is case-sensitive." : ""}
      </p>
    </>
  );
}

type ListedProps = { id: string; groups: Group[]; here: Choice | undefined; idOf: (c: Choice) => string; take: (c: Choice) => void };

function Listed({ id, groups, here, idOf, take }: ListedProps) {
  return (
    <div id={id} role="listbox" aria-label="Results" className={css.list}>
      {groups.map((g) => (
        <div key={g.name} role="group" aria-label={g.name}>
          <p className={css.group} aria-hidden>
            {g.name}
          </p>
          {g.choices.map((c) => (
            <div key={c.id} id={idOf(c)} role="option" aria-selected={c === here} className={css.choice} onClick={() => take(c)}>
              <span>{c.label}</span>
              <small>{c.note}</small>
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}
