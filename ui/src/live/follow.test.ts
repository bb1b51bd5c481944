import { expect, test } from "vitest";
import { eventsOf } from "./follow";

const bytes = new TextEncoder().encode('id: 1\nevent: change\ndata: {"name":"ä"}\n\n:\n\nevent: end\nid: end\ndata: {}\n\n');

test("events do not depend on how the stream is split", async () => {
  for (let at = 0; at <= bytes.length; at++) {
    const body = new ReadableStream<Uint8Array>({
      start(c) {
        c.enqueue(bytes.slice(0, at));
        c.enqueue(bytes.slice(at));
        c.close();
      },
    });
    const events = [];
    for await (const e of eventsOf(body)) events.push(e);
    expect(events).toEqual([{ name: "change", data: '{"name":"ä"}' }, { name: "end", data: "{}" }]);
  }
});
