import { useSyncExternalStore } from "react";
import { useSession } from "../api/session";
import { useSetting } from "../shell/settings";
import { type Form, formatDistance, formatDuration, formatTime, type Place, placeName, readOffsetTime, type ZoneMode } from "./zone";

export const zoneModes: ZoneMode[] = ["workflow", "browser", "utc"];

const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

export function useZoneMode(): ZoneMode {
  const mode = useSetting("zone");
  return mode === "browser" || mode === "utc" ? mode : "workflow";
}

/** The zone in which times are shown. `of` is a session time, whose offset is that of its workflow. */
export function usePlace(of?: string): Place {
  const mode = useZoneMode();
  const zone = useSession().timezone;
  if (mode === "utc") return "UTC";
  if (mode === "browser") return browserZone;
  return of ? readOffsetTime(of).offset : (zone ?? browserZone);
}

/** The time in the other zones, for a tooltip. */
function others(at: number, of: string | undefined) {
  const places: Place[] = [browserZone, "UTC", ...(of ? [readOffsetTime(of).offset] : [])];
  return places.map((p) => `${formatTime(at, p, "full")} ${placeName(p)}`).join("\n");
}

/** A time, in milliseconds since 1970. */
export function Time({ at, of, form = "minute" }: { at: number; of?: string | undefined; form?: Form }) {
  const place = usePlace(of);
  return (
    <time dateTime={new Date(at).toISOString()} title={others(at, of)}>
      {formatTime(at, place, form)}
    </time>
  );
}

/** A session time; the zone of its workflow is shown if a different zone is selected. */
export function SessionTime({ text }: { text: string }) {
  const { at, offset } = readOffsetTime(text);
  const mode = useZoneMode();
  const place = usePlace(text);
  const own = formatTime(at, offset, "minute");
  return (
    <time dateTime={new Date(at).toISOString()} title={others(at, text)}>
      {formatTime(at, place, "minute")}
      {mode !== "workflow" && formatTime(at, place, "minute") !== own && ` (${own} ${placeName(offset)})`}
    </time>
  );
}

let now = Date.now();
const ticking = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void) {
  ticking.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const l of ticking) l();
  }, 1000);
  return () => {
    ticking.delete(listener);
    if (ticking.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The current time, once a second. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now);

/** The time since or until a point in time. */
export function Distance({ at }: { at: number }) {
  const now = useNow();
  return <span title={others(at, undefined)}>{formatDistance(now - at)}</span>;
}

/** A duration; up to now if `end` is 0. */
export function Duration({ begin, end }: { begin: number; end: number }) {
  return end === 0 ? <Growing begin={begin} /> : <span>{formatDuration(end - begin)}</span>;
}

function Growing({ begin }: { begin: number }) {
  return <span>{formatDuration(Math.max(0, useNow() - begin))}</span>;
}
