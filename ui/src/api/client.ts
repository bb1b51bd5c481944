import createClient from "openapi-fetch";
import type { components, paths } from "./schema.gen";

/** What the server says of itself, as docs/openapi.yaml describes it. */
export type Schemas = components["schemas"];
export type Brief = Schemas["Brief"];
export type Overview = Schemas["Overview"];
export type Attempt = Schemas["Attempt"];
export type Status = Brief["status"];

/** An answer that is not what was asked for. */
export class Refusal extends Error {
  constructor(
    message: string,
    /** The HTTP status; 0 where no server answered. */
    readonly status: number,
    /** The number under which the gateway's log has the request; null where there is no gateway. */
    readonly request: string | null,
  ) {
    super(message);
    this.name = "Refusal";
  }
}

/** Whether what was asked for is not there. */
export const isMissing = (error: unknown): boolean => error instanceof Refusal && error.status === 404;

/** Every request has it: it shows that a page of this server asks, and keeps the browser from asking for a password itself. */
export const pageHeader = { "X-Zerodag-Request": "page" };

export const client = createClient<paths>({ baseUrl: "", headers: pageHeader });

/** An id as paths have it. Ids stay text, since they may be larger than numbers of JavaScript; openapi.yaml says integer. */
export const pathId = (id: string) => id as unknown as number;

let whenSignedOut: () => void = () => {};

/** Has a function called whenever the server answers that nobody is signed in. */
export function onSignedOut(f: () => void) {
  whenSignedOut = f;
}

/** Turns an answer that refuses into a Refusal. */
export async function refusalOf(response: Response, body?: unknown): Promise<Refusal> {
  if (response.status === 401) whenSignedOut();
  const said = body ?? (await response.json().catch(() => null));
  const message = typeof said === "object" && said !== null && "message" in said ? String(said.message) : "";
  const request = response.headers.get("apigw-requestid") ?? response.headers.get("x-request-id");
  return new Refusal(message || `The server responded with status ${response.status}.`, response.status, request);
}

/** Says in words that no server answered. */
export function unreachable(error: unknown): unknown {
  return error instanceof TypeError ? new Refusal("The server cannot be reached.", 0, null) : error;
}

/** The data of a call, or a Refusal. */
export async function answered<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  let result;
  try {
    result = await call;
  } catch (error) {
    throw unreachable(error);
  }
  if (!result.response.ok) throw await refusalOf(result.response, result.error);
  return result.data as T;
}
