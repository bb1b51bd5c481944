// Reads and writes tar archives. Entries keep their bytes, so an unchanged entry is written exactly as it was,
// whichever program created it: with its mode, time and links, and with records that are unknown here.

/** The size of a block in bytes: a header is one block, and contents are padded to whole blocks. */
const block = 512;

export type Entry = {
  /** The path with slashes, without a leading "./". */
  name: string;
  /** Other types are folders, and entries that projects must not contain. */
  kind: "file" | "link" | "other";
  /** The lowest nine bits of the mode. */
  mode: number;
  content: Uint8Array;
  /** The original entry including its headers; null for entries that were created here. */
  raw: Uint8Array | null;
};

const latin = new TextDecoder("latin1");
const utf8 = new TextDecoder();
const encoder = new TextEncoder();

/** The entries of an archive; throws if it is invalid or truncated. */
export function readTar(bytes: Uint8Array): Entry[] {
  const entries: Entry[] = [];
  let at = 0;
  while (at + block <= bytes.length && !isZero(bytes.subarray(at, at + block))) {
    const { entry, end } = readEntry(bytes, at);
    if (entry) entries.push(entry);
    at = end;
  }
  return entries;
}

/** Reads one entry including its extension headers; none if an archive ends with such headers. */
function readEntry(bytes: Uint8Array, start: number): { entry: Entry | null; end: number } {
  const said: Record<string, string> = {};
  let at = start;
  for (;;) {
    const header = bytes.subarray(at, at + block);
    if (header.length < block || isZero(header)) return { entry: null, end: at };
    if (!checks(header)) throw new Error("The archive is damaged: a header does not match its checksum.");
    const type = String.fromCharCode(header[156]!);
    const size = said.size !== undefined && !"xgLK".includes(type) ? Number(said.size) : "123456".includes(type) ? 0 : number(header.subarray(124, 136));
    const content = bytes.subarray(at + block, at + block + size);
    if (!(size >= 0) || content.length < size) throw new Error("The archive is damaged: it ends in the middle of a file.");
    at += block + Math.ceil(size / block) * block;
    if (type === "x") Object.assign(said, records(content));
    else if (type === "L") said.path = utf8.decode(until(content));
    else if (type !== "g" && type !== "K") {
      const kind = type === "0" || type === "\0" ? "file" : type === "2" ? "link" : "other";
      const name = (said.path ?? nameOf(header)).replace(/^(\.\/+)+/, "");
      return { entry: { name, kind, mode: number(header.subarray(100, 108)) & 0o777, content, raw: bytes.subarray(start, at) }, end: at };
    }
  }
}

const isZero = (bytes: Uint8Array) => bytes.every((b) => b === 0);

/** The bytes before the first zero. */
function until(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(0);
  return end < 0 ? bytes : bytes.subarray(0, end);
}

/** A number in octal digits or, if it is large, in binary after a first byte of 0x80. */
function number(field: Uint8Array): number {
  if (field[0]! & 0x80) return field.subarray(1).reduce((n, b) => n * 256 + b, field[0]! & 0x7f);
  const text = latin.decode(until(field)).trim();
  return text === "" ? 0 : /^[0-7]+$/.test(text) ? parseInt(text, 8) : NaN;
}

/** The checksum of a header, computed with spaces in the checksum field. */
const sum = (header: Uint8Array) => header.reduce((s, b, i) => s + (i >= 148 && i < 156 ? 32 : b), 0);
const checks = (header: Uint8Array) => number(header.subarray(148, 156)) === sum(header);

function nameOf(header: Uint8Array): string {
  const name = utf8.decode(until(header.subarray(0, 100)));
  const prefix = latin.decode(header.subarray(257, 263)) === "ustar\0" ? utf8.decode(until(header.subarray(345, 500))) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** The records of an extended header, "LENGTH KEY=VALUE\n", where the length in bytes includes the whole record. */
function records(content: Uint8Array): Record<string, string> {
  const found: Record<string, string> = {};
  for (let at = 0; at < content.length; ) {
    const length = parseInt(latin.decode(content.subarray(at, at + 20)), 10);
    if (!(length > 0) || at + length > content.length) throw new Error("The archive is damaged: a header record has the wrong length.");
    const record = utf8.decode(content.subarray(at, at + length - 1));
    const equals = record.indexOf("=");
    found[record.slice(record.indexOf(" ") + 1, equals)] = record.slice(equals + 1);
    at += length;
  }
  return found;
}

/** Writes an archive: read entries unchanged, other entries with plain headers without owner and time. */
export function writeTar(entries: Entry[]): Uint8Array<ArrayBuffer> {
  const parts = [...entries.flatMap((e) => (e.raw ? [e.raw] : made(e))), new Uint8Array(2 * block)];
  const all = new Uint8Array(parts.reduce((size, p) => size + p.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A file with its header, preceded by an extended header if the name is too long. */
function made({ name, mode, content }: Entry): Uint8Array[] {
  const bytes = encoder.encode(name);
  const parts: Uint8Array[] = [];
  if (bytes.length > 100 || bytes.some((b) => b > 127)) {
    const record = pathRecord(name);
    parts.push(header(encoder.encode("PaxHeader"), "x", 0o644, record.length), ...filled(record));
  }
  parts.push(header(bytes.subarray(0, 100), "0", mode, content.length), ...filled(content));
  return parts;
}

function pathRecord(name: string): Uint8Array {
  const rest = encoder.encode(` path=${name}\n`).length;
  let length = rest;
  while (String(length).length + rest !== length) length = String(length).length + rest;
  return encoder.encode(`${length} path=${name}\n`);
}

function header(name: Uint8Array, type: string, mode: number, size: number): Uint8Array {
  const bytes = new Uint8Array(block);
  const put = (at: number, text: string) => bytes.set(encoder.encode(text), at);
  const octal = (n: number, digits: number) => `${n.toString(8).padStart(digits, "0")}\0`;
  bytes.set(name, 0);
  put(100, octal(mode, 7) + octal(0, 7) + octal(0, 7) + octal(size, 11) + octal(0, 11));
  put(156, type);
  put(257, "ustar\x0000");
  put(148, `${sum(bytes).toString(8).padStart(6, "0")}\0 `);
  return bytes;
}

const filled = (content: Uint8Array) => [content, new Uint8Array((block - (content.length % block)) % block)];
