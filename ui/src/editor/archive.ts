import { answered, client, pathId } from "../api/client";
import { type Entry, readTar, writeTar } from "./tar";

/** The maximum size of a project that is unpacked in a browser, in bytes. */
const most = 256_000_000;

/** The entries of a revision's archive. It is fetched from this server, which the policy of the page allows, not from the store. */
export async function readArchive(project: string, revision: string, signal: AbortSignal): Promise<Entry[]> {
  const query = { revision, direct_download: false };
  const packed = await answered(client.GET("/api/projects/{id}/archive", { params: { path: { id: pathId(project) }, query }, parseAs: "arrayBuffer", signal }));
  return readTar(await unpack(new Blob([packed])));
}

/** Unpacks gzip data, up to the limit. */
async function unpack(packed: Blob): Promise<Uint8Array> {
  const parts: BlobPart[] = [];
  let size = 0;
  for await (const part of packed.stream().pipeThrough(new DecompressionStream("gzip")) as unknown as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    size += part.length;
    if (size > most) throw new Error(`This project has more than ${most / 1_000_000} MB of files, which is too much for a browser. Push it with the command line.`);
    parts.push(part);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** Pushes entries as a revision; creates the project if it does not exist. */
export async function push(project: string, revision: string, entries: Entry[]) {
  const stream = new Blob([writeTar(entries)]).stream().pipeThrough(new CompressionStream("gzip"));
  const body = await new Response(stream).blob(); // complete, because the request needs its length
  return answered(
    client.PUT("/api/projects", {
      params: { query: { project, revision } },
      headers: { "Content-Type": "application/gzip" },
      body: body as unknown as string,
      bodySerializer: (given) => given as unknown as Blob,
    }),
  );
}
