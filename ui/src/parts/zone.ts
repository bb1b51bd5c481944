/** The zone in which times are shown: that of the workflow, of this browser, or UTC. */
export type ZoneMode = "workflow" | "browser" | "utc";

/** A zone by name, or a fixed offset in minutes, as in session times. */
export type Place = string | number;

/** The precision of a displayed time. */
export type Form = "full" | "minute" | "clock" | "short";

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    const digits = "2-digit";
    const options = { year: "numeric", month: digits, day: digits, hour: digits, minute: digits, second: digits, hourCycle: "h23" } as const;
    format = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone });
    formats.set(zone, format);
  }
  return format;
}

function partsOf(ms: number, place: Place) {
  const [at, zone] = typeof place === "number" ? [ms + place * 60_000, "UTC"] : [ms, place];
  const parts = Object.fromEntries(formatOf(zone).formatToParts(at).map((p) => [p.type, p.value]));
  return { day: `${parts.year}-${parts.month}-${parts.day}`, minute: `${parts.hour}:${parts.minute}`, second: parts.second! };
}

/** Formats a time. `short` shows only the parts that differ from now: the minute on the same day, month and day within the year. */
export function formatTime(ms: number, place: Place, form: Form, now = Date.now()): string {
  const t = partsOf(ms, place);
  switch (form) {
    case "full":
      return `${t.day} ${t.minute}:${t.second}`;
    case "minute":
      return `${t.day} ${t.minute}`;
    case "clock":
      return `${t.minute}:${t.second}`;
    case "short": {
      const today = partsOf(now, place).day;
      if (t.day === today) return t.minute;
      return t.day.slice(0, 4) === today.slice(0, 4) ? `${t.day.slice(5)} ${t.minute}` : `${t.day} ${t.minute}`;
    }
  }
}

/** The name of a zone: "+09:00" for an offset. */
export function placeName(place: Place): string {
  if (typeof place === "string") return place;
  const size = Math.abs(place);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${place < 0 ? "−" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** The offset of a session time in minutes, and its time. */
export function readOffsetTime(text: string): { at: number; offset: number } {
  const sign = /([+-])([0-9]{2}):([0-9]{2})$/.exec(text);
  const offset = sign ? (sign[1] === "-" ? -1 : 1) * (Number(sign[2]) * 60 + Number(sign[3])) : 0;
  return { at: Date.parse(text), offset };
}

/** A duration in its two largest units: 41ms, 3.2s, 3m12s, 2h05m, 4d03h. */
export function formatDuration(ms: number): string {
  const two = (n: number) => String(n).padStart(2, "0");
  const s = Math.floor(ms / 1000);
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  if (s < 10) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m${two(s % 60)}s`;
  if (s < 86_400) return `${Math.floor(s / 3600)}h${two(Math.floor((s % 3600) / 60))}m`;
  return `${Math.floor(s / 86_400)}d${two(Math.floor((s % 86_400) / 3600))}h`;
}

/** The distance of a time from now, in one unit. */
export function formatDistance(ms: number): string {
  const s = Math.round(Math.abs(ms) / 1000);
  const text = s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min` : s < 172_800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86_400)} d`;
  return ms < 0 ? `in ${text}` : `${text} ago`;
}
