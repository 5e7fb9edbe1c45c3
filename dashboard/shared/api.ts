/** HTTP API calls with the session of the browser. */
import { signal } from "@preact/signals";
import type { Problem } from "./resources.ts";
import { root } from "./root.ts";

export type QueryValue = string | number | boolean | readonly string[] | null | undefined;
export type Query = Readonly<Record<string, QueryValue>>;

export interface ApiCall {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path relative to the server root, such as `v1/webhooks`. */
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  /** Raw JSON text, sent digit for digit instead of `body`. */
  readonly bodyText?: string;
  /** A file, sent with its media type instead of `body` and `bodyText`. */
  readonly file?: Blob;
  readonly signal?: AbortSignal;
  /** Sent without the session, so that a 401 does not end it. */
  readonly isAnonymous?: boolean;
}

/** An error response, or no response (`status` 0). */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly problem: Problem | null;
  /** Request id in the server log, if reported. */
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

/** Reads, creates and ends the session. */
export const sessionPath = "ui/session";

export interface ApiAnswer<T> {
  readonly value: T;
  /** Raw text, for numbers that must not be rounded. */
  readonly text: string;
}

/** Token of a portal session, sent instead of the cookie. Kept only in memory. */
export const bearer: { token: string | null } = { token: null };

/** True after a 401 response, until the next login. */
export const isSessionOver = signal(false);

/** If the last key press or click is longer ago than this, calls count as polling and do not extend the session. */
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
    throw new ApiError(0, { problem: null, detail: "The server did not respond.", requestId: null });
  }
  const text = await response.text();
  if (response.status === 401 && call.path !== sessionPath && !isAnonymous) isSessionOver.value = true;
  if (!response.ok) throw errorOf(response, text);
  return { value: (text === "" ? null : JSON.parse(text)) as T, text };
}

/** Authenticates with the token of a portal session. Without a token, the browser sends the cookie. */
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
  return new ApiError(status, { problem, detail: `The server responded with status ${status}.`, requestId });
}
