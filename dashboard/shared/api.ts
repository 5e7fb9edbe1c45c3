/** Calls of the HTTP API, with the session of the browser. */
import { signal } from "@preact/signals";
import type { Problem } from "./resources.ts";
import { root } from "./root.ts";

export type QueryValue = string | number | boolean | readonly string[] | null | undefined;
export type Query = Readonly<Record<string, QueryValue>>;

export interface ApiCall {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the address of the server, such as `v1/webhooks`. */
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  /** Instead of it: JSON as it is to be sent, digit for digit. */
  readonly bodyText?: string;
  /** Instead of both: bytes of a media type of their own. */
  readonly file?: Blob;
  readonly signal?: AbortSignal;
  /** Sent without the session, so that a refusal says nothing about it. */
  readonly isAnonymous?: boolean;
}

/** The answer was an error, or none came (`status` 0). */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly problem: Problem | null;
  /** Under which the server logged it, where it said so. */
  readonly requestId: string | null;

  constructor(status: number, { problem, detail, requestId }: ErrorFacts) {
    super(problem?.detail ?? detail);
    this.status = status;
    this.problem = problem;
    this.requestId = requestId;
  }
}

interface ErrorFacts {
  readonly problem: Problem | null;
  readonly detail: string;
  readonly requestId: string | null;
}

/** Tells of the session, begins one and ends it. */
export const sessionPath = "ui/session";

export interface ApiAnswer<T> {
  readonly value: T;
  /** As it was sent, for what must not be rounded. */
  readonly text: string;
}

/** Sent instead of the cookie, from the memory of the page alone: of a customer's session in the portal. */
export const bearer: { token: string | null } = { token: null };

/** True since a call was answered that there is no session any more, until somebody logs in again. */
export const isSessionOver = signal(false);

/** Calls that come later after the last key or click than this are nobody's doing, and keep no session alive. */
const attentionMs = 60_000;
let attendedAt = performance.now();

function attend(): void {
  attendedAt = performance.now();
}

for (const name of ["pointerdown", "keydown"]) {
  addEventListener(name, attend, { capture: true, passive: true });
}

export async function callApi<T>(call: ApiCall): Promise<ApiAnswer<T>> {
  const { method = "GET", body, signal: aborted, isAnonymous = false } = call;
  const sent = call.file ?? call.bodyText ?? (body === undefined ? undefined : JSON.stringify(body));
  let response: Response;
  try {
    response = await fetch(urlOf(call), {
      method,
      headers: {
        ...headersOf(isAnonymous ? null : bearer.token),
        ...(sent !== undefined && { "content-type": call.file?.type ?? "application/json" }),
      },
      ...(sent !== undefined && { body: sent }),
      ...(aborted !== undefined && { signal: aborted }),
    });
  } catch (error) {
    if (aborted?.aborted === true) throw error;
    throw new ApiError(0, { problem: null, detail: "The server does not answer.", requestId: null });
  }
  const text = await response.text();
  if (response.status === 401 && call.path !== sessionPath && !isAnonymous) isSessionOver.value = true;
  if (!response.ok) throw errorOf(response, text);
  return { value: (text === "" ? null : JSON.parse(text)) as T, text };
}

/** Whose call it is: of the bearer of a token, or of whoever has the cookie. */
function headersOf(token: string | null): Readonly<Record<string, string>> {
  if (token !== null) return { authorization: `Bearer ${token}` };
  return { "x-posthorn-ui": performance.now() - attendedAt < attentionMs ? "1" : "poll" };
}

export function urlOf({ path, query = {} }: Pick<ApiCall, "path" | "query">): URL {
  const url = new URL(path, root);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [value]) {
      if (one !== undefined && one !== null && one !== "") url.searchParams.append(name, String(one));
    }
  }
  return url;
}

function errorOf({ status, headers }: Response, text: string): ApiError {
  const isProblem = headers.get("content-type")?.startsWith("application/problem+json") === true;
  const problem = isProblem ? (JSON.parse(text) as Problem) : null;
  const requestId = /request id ([\w-]+)/.exec(problem?.detail ?? "")?.[1] ?? null;
  return new ApiError(status, { problem, detail: `The server answered ${status}.`, requestId });
}
