import createClient from "openapi-fetch";
import type { components, paths } from "./schema.gen";

/** Types of the API, generated from docs/openapi.yaml. */
export type Schemas = components["schemas"];
export type Brief = Schemas["Brief"];
export type Overview = Schemas["Overview"];
export type Attempt = Schemas["Attempt"];
export type Status = Brief["status"];

/** A response with an error. */
export class Refusal extends Error {
  constructor(
    message: string,
    /** The HTTP status; 0 if no server responded. */
    readonly status: number,
    /** The request id in the log of the gateway; null without a gateway. */
    readonly request: string | null,
  ) {
    super(message);
    this.name = "Refusal";
  }
}

/** Reports whether the resource does not exist. */
export const isMissing = (error: unknown): boolean => error instanceof Refusal && error.status === 404;

/** Sent with every request: it identifies pages of this server, and stops the browser from showing its password dialog. */
export const pageHeader = { "X-Zerodag-Request": "page" };

export const client = createClient<paths>({ baseUrl: "", headers: pageHeader });

/** An id in a path. Ids stay strings, because they may exceed JavaScript numbers; openapi.yaml declares integers. */
export const pathId = (id: string) => id as unknown as number;

let whenSignedOut: () => void = () => {};

/** Registers a function that is called when the server responds that no user is signed in. */
export function onSignedOut(f: () => void) {
  whenSignedOut = f;
}

/** Converts an error response into a Refusal. */
export async function refusalOf(response: Response, body?: unknown): Promise<Refusal> {
  if (response.status === 401) whenSignedOut();
  const said = body ?? (await response.json().catch(() => null));
  const message = typeof said === "object" && said !== null && "message" in said ? String(said.message) : "";
  const request = response.headers.get("apigw-requestid") ?? response.headers.get("x-request-id");
  return new Refusal(message || `The server responded with status ${response.status}.`, response.status, request);
}

/** Explains that no server responded. */
export function unreachable(error: unknown): unknown {
  return error instanceof TypeError ? new Refusal("The server cannot be reached.", 0, null) : error;
}

/** Returns the data of a call, or throws a Refusal. */
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
