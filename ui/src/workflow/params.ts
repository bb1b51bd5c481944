/** Parses parameters in JSON. An empty text means no parameters. */
export function readParams(text: string): { params: Record<string, unknown>; error: null } | { params: null; error: string } {
  if (text.trim() === "") return { params: {}, error: null };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { params: null, error: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { params: null, error: 'Parameters must be an object, such as {"day": "2026-11-23"}.' };
  return { params: value as Record<string, unknown>, error: null };
}

const pad = (n: number) => String(n).padStart(2, "0");

/** A time as a session time in UTC, without fractions of a second. */
export const utcTime = (ms: number): string => new Date(ms).toISOString().slice(0, 19) + "+00:00";

/**
 * The session time of a date and time that the user picked, in the zone of a workflow, with the offset that the zone
 * has then. A time that a clock change skips gets the offset before the change.
 */
export function zonedTime(local: string, zone: string): string {
  const at = Date.parse(`${local}${local.length === 16 ? ":00" : ""}Z`);
  let offset = offsetOf(at, zone);
  offset = offsetOf(at - offset * 60_000, zone);
  const size = Math.abs(offset);
  return `${new Date(at).toISOString().slice(0, 19)}${offset < 0 ? "-" : "+"}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
}

/** The offset of a zone at a time, in minutes. */
function offsetOf(ms: number, zone: string): number {
  const parts = Object.fromEntries(
    new Intl.DateTimeFormat("en-GB", { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" })
      .formatToParts(ms)
      .map((p) => [p.type, p.value]),
  );
  const there = Date.UTC(Number(parts.year), Number(parts.month) - 1, Number(parts.day), Number(parts.hour), Number(parts.minute), Number(parts.second));
  return Math.round((there - Math.floor(ms / 1000) * 1000) / 60_000);
}
