import { block as firstLines, type FromWorker, type LogFile, type ToWorker } from "./messages";
import { LogText } from "./text";

// Reads, stores and searches the log of a task, so that large logs never block the page.

/** The delay before the worker requests more of a growing log, in milliseconds. */
const pause = 1_000;
/** The maximum number of stored characters of a log: the file has the rest. */
const mostCharacters = 200_000_000;
/** How often the page is notified and its requests are answered, in milliseconds. */
const often = 60;

const log = new LogText();
let whole = false;
let cut = false;
let last = 0; // the first line of the last file
let told = 0;
let growing = true; // the log may grow
let seen = true; // the page is visible
let wake = () => {};
let timer: ReturnType<typeof setTimeout> | undefined;

const tell = (message: FromWorker) => postMessage(message);
const tellLines = (block: number, from: number, many: number) => tell({ is: "lines", block, lines: log.lines(from, many) });

function tellState() {
  clearTimeout(timer);
  const wait = told + often - Date.now();
  if (wait > 0 && !whole) {
    timer = setTimeout(tellState, wait);
    return;
  }
  told = Date.now();
  tell({ is: "state", count: log.count, characters: log.characters, whole, cut, last });
}

let breathed = 0;

/** Handles requests of the page before more text: text that always arrives immediately would block them. */
async function breathe() {
  if (Date.now() - breathed < often) return;
  await new Promise((done) => setTimeout(done));
  breathed = Date.now();
}

function add(text: string) {
  if (text === "") return;
  const first = log.count === 0;
  log.add(text);
  if (first) tellLines(0, 0, firstLines);
  cut ||= log.characters > mostCharacters;
  tellState();
}

class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

async function get(url: string, header: Record<string, string>): Promise<Response> {
  const response = await fetch(url, { headers: header });
  if (response.ok) return response;
  const body = (await response.json().catch(() => null)) as { message?: string } | null;
  throw new Refused(body?.message ?? `The server responded with status ${response.status}.`, response.status);
}

type Piece = { text: string; next: number; more: boolean; done: boolean };

/**
 * Reads the available text of a file as it arrives, and returns where it ended, in bytes of the unpacked file. The
 * browser cannot unpack the files itself, because they consist of several gzip members.
 */
async function readText(url: string, after: number, header: Record<string, string>): Promise<number> {
  const response = await get(`${url}?after=${after}`, { ...header, Accept: "text/plain" });
  if (!response.body || !response.headers.get("Content-Type")?.startsWith("text/plain")) return after; // readPieces reads all of it
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return after;
    after += value.byteLength;
    add(decoder.decode(value, { stream: true }));
    await breathe();
    if (cut) {
      await reader.cancel();
      return after;
    }
  }
}

/** Reads a file to its end; follows the last file of a running task until nothing is appended any more. */
async function readPieces(url: string, after: number, header: Record<string, string>, follow: boolean) {
  let more = true;
  while (!cut) {
    if (more) after = await readText(url, after, header);
    const final = !follow || !growing; // all text was written before this read
    const piece = (await (await get(`${url}?after=${after}`, header)).json()) as Piece;
    after = piece.next;
    add(piece.text);
    more = piece.more;
    if (more) continue;
    if (piece.done || final) return;
    tellState();
    await new Promise<void>((done) => {
      wake = done;
      if (seen) setTimeout(done, pause);
    });
  }
}

async function open(message: ToWorker & { do: "open" }) {
  const { attempt, files, done, header } = message;
  const path = (f: LogFile) => `${encodeURIComponent(attempt)}/files/${encodeURIComponent(f.name)}`;
  try {
    for (const [i, file] of files.entries()) {
      if (i > 0) add(`${log.count > 0 && log.line(log.count - 1) !== "" ? "\n" : ""}── ${file.heading} ──\n`);
      last = log.count;
      const ended = done || i < files.length - 1;
      await readPieces(`/api/x/logs/${path(file)}`, 0, header, !ended);
    }
  } catch (error) {
    tell({ is: "failed", message: error instanceof Error ? error.message : String(error), status: error instanceof Refused ? error.status : 0 });
  }
  whole = true;
  tellState();
}

onmessage = (event: MessageEvent<ToWorker>) => {
  const message = event.data;
  switch (message.do) {
    case "open":
      void open(message);
      break;
    case "follow":
      ({ growing, seen } = message);
      if (seen || !growing) wake();
      break;
    case "lines":
      tellLines(message.block, message.from, message.many);
      break;
    case "search":
      tell({ is: "hits", text: message.text, ...log.search(message.text) });
      break;
    case "cause":
      tell({ is: "error", line: log.cause(message.from) });
      break;
    case "error":
      tell({ is: "error", line: log.errorFrom(message.from) });
      break;
  }
};
