import { backoffMs } from "../domain/retry-schedule.ts";
import { serializeKey } from "../domain/http/idempotency-key.ts";
import { parseRetryAfter } from "../domain/http/retry-after.ts";
import { messageOf } from "../domain/thrown.ts";
import type { Problem } from "./api-types.ts";
import {
  ApiError,
  type FailedCall,
  PosthornClientError,
  UnansweredError,
  UnexpectedAnswerError,
} from "./client-error.ts";

/** A unique key. Browsers provide `randomUUID` only on pages that were loaded over TLS. */
export function randomKey(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export interface RetryOptions {
  /** Maximum number of requests for one call, including the first; defaults to 4. */
  readonly attemptsMax?: number;
  /**
   * Delay before the second request, doubled each time and reduced by a random part of up to half; defaults to 250 ms.
   */
  readonly delayMsMin?: number;
  /** Upper limit of the delay in milliseconds; defaults to 8,000. */
  readonly delayMsMax?: number;
  /** A longer `Retry-After` ends the call with its error; defaults to 60,000 ms. */
  readonly retryAfterMsMax?: number;
  /** Decides whether to retry. Called only for errors after which a retry could succeed. */
  readonly mayRetry?: (error: PosthornClientError) => boolean;
}

type RetryRules = Required<RetryOptions>;

const retryDefaults: RetryRules = {
  attemptsMax: 4,
  delayMsMin: 250,
  delayMsMax: 8_000,
  retryAfterMsMax: 60_000,
  mayRetry: () => true,
};

/**
 * Another call with this key is running. It may be our own earlier request, whose response was lost; a retry then gets
 * that response.
 */
const passingConflicts = new Set(["idempotency_key_in_progress", "event_in_progress"]);

const passingStatuses = new Set([408, 429, 500, 502, 503, 504]);

/**
 * The delay before the same request is repeated with the same key; null if a repeat would not help. A faulty request
 * must be corrected first.
 */
function retryDelayMs(
  error: PosthornClientError,
  rules: RetryRules,
  attempts: number,
  random: number,
): number | null {
  if (attempts >= rules.attemptsMax || !passes(error) || !rules.mayRetry(error)) return null;
  const ownMs = backoffMs(rules, attempts - 1, random);
  const askedMs = (retryAfterSeconds(error) ?? 0) * 1_000;
  return askedMs > rules.retryAfterMsMax ? null : Math.max(ownMs, askedMs);
}

function passes(error: PosthornClientError): boolean {
  if (error instanceof UnansweredError) return true;
  if (error instanceof ApiError)
    return passingStatuses.has(error.status) || (error.status === 409 && passingConflicts.has(error.code));
  return error instanceof UnexpectedAnswerError && passingStatuses.has(error.status);
}

function retryAfterSeconds(error: PosthornClientError): number | null {
  return error instanceof ApiError || error instanceof UnexpectedAnswerError ? error.retryAfterSeconds : null;
}

/** Clock and timers of the client; tests replace them. */
export interface Time {
  /** Unix milliseconds. */
  now(): number;
  /** Rejects with the signal's reason if it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A signal that is aborted after the given time. */
  deadline(ms: number): AbortSignal;
}

export const systemTime: Time = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", stop);
        resolve();
      }, ms);
      if (signal?.aborted === true) stop();
      else signal?.addEventListener("abort", stop, { once: true });
    }),
  deadline: (ms) => AbortSignal.timeout(ms),
};

export interface ConnectionOptions {
  /**
   * Base URL of the server without `/v1`: `https://hooks.example.com`, including any path under which a proxy serves
   * it.
   */
  readonly url: string;
  /** An API key, or a function that returns one; it is called before each request. */
  readonly key: string | (() => string | Promise<string>);
  /** Timeout of one request in milliseconds; defaults to 30,000. */
  readonly timeoutMs?: number;
  /** If false, each call sends a single request. */
  readonly retry?: RetryOptions | false;
  /** Used instead of the platform's `fetch`. */
  readonly fetch?: typeof fetch;
}

/** Options of a call in addition to its content. */
export interface CallOptions {
  /** Aborts the call, including delays between requests. */
  readonly signal?: AbortSignal;
  /** Timeout of one request. */
  readonly timeoutMs?: number;
  /**
   * Idempotency key of a POST; generated for each call by default. Provide one if another run of the program may repeat
   * the call: within 24 hours, calls with the same key take effect only once.
   */
  readonly idempotencyKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type QueryValue = string | number | boolean | readonly (string | number)[] | null | undefined;

export interface CallContent {
  readonly query?: object | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Instead of `body`: bytes that are sent unchanged. */
  readonly raw?: { readonly contentType: string; readonly body: Uint8Array<ArrayBuffer> | string };
}

/** Replacements for platform functions, for tests and for Posthorn's command line. */
interface CallerParts {
  readonly time: Time;
  readonly random: () => number;
  readonly readJson: (text: string) => unknown;
}

const platform: CallerParts = { time: systemTime, random: Math.random, readJson: JSON.parse };
const timeoutMsDefault = 30_000;

/** Sends requests: adds the key, retries idempotently, and throws typed errors. */
export class Caller {
  readonly #base: string;
  readonly #options: ConnectionOptions;
  readonly #rules: RetryRules;
  readonly #parts: CallerParts;
  readonly #fetch: typeof fetch;

  constructor(options: ConnectionOptions, parts: Partial<CallerParts> = {}) {
    this.#base = baseOf(options.url);
    this.#options = options;
    this.#rules =
      options.retry === false ? { ...retryDefaults, attemptsMax: 1 } : { ...retryDefaults, ...options.retry };
    this.#parts = { ...platform, ...parts };
    // Some platforms refuse to call `fetch` as a method of another object.
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  get time(): Time {
    return this.#parts.time;
  }

  /** The URL of a path on this server. */
  addressOf(path: string, query: object = {}): URL {
    const url = new URL(path.replace(/^\//, ""), this.#base);
    for (const [name, value] of Object.entries(query) as [string, QueryValue][]) {
      for (const one of Array.isArray(value) ? (value as readonly (string | number)[]) : [value]) {
        if (one !== undefined && one !== null) url.searchParams.append(name, String(one));
      }
    }
    return url;
  }

  /** The response as JSON; undefined if it has no content. */
  async call<Answer>(
    method: string,
    request: CallContent & CallOptions & { readonly path: string },
  ): Promise<Answer> {
    const key = method === "POST" ? (request.idempotencyKey ?? randomKey()) : null;
    // Serializing validates the key before anything is sent. The quotes are part of the header value.
    const keyHeader: Readonly<Record<string, string>> =
      key === null ? {} : { "idempotency-key": serializeKey(key) };
    let wasUnanswered = false;
    for (let attempts = 1; ; attempts += 1) {
      const failed = { method, path: request.path, attempts, idempotencyKey: key };
      try {
        return (await this.#once(
          { ...request, headers: { ...request.headers, ...keyHeader } },
          failed,
        )) as Answer;
      } catch (error) {
        if (!(error instanceof PosthornClientError)) throw error;
        // The first request deleted the resource, but its response was lost.
        if (wasUnanswered && method === "DELETE" && error instanceof ApiError && error.status === 404)
          return undefined as Answer;
        wasUnanswered ||= error instanceof UnansweredError;
        const delayMs = retryDelayMs(error, this.#rules, attempts, this.#parts.random());
        if (delayMs === null) throw error;
        await this.#parts.time.sleep(delayMs, request.signal);
      }
    }
  }

  /** Sends one request and returns the response while its body is still arriving, for streams that do not end. */
  async open(
    request: CallContent & CallOptions & { readonly path: string },
    failed: FailedCall = { method: "GET", path: request.path, attempts: 1, idempotencyKey: null },
  ): Promise<Response> {
    request.signal?.throwIfAborted();
    const url = this.addressOf(request.path, request.query);
    const { key } = this.#options;
    const authorization = `Bearer ${typeof key === "string" ? key : await key()}`;
    const content =
      request.raw?.body ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
    const response = await this.#fetch(url, {
      method: failed.method,
      redirect: "manual",
      headers: {
        accept: "application/json, application/problem+json",
        ...(content !== undefined && { "content-type": request.raw?.contentType ?? "application/json" }),
        ...request.headers,
        authorization,
      },
      ...(content !== undefined && { body: content }),
      ...(request.signal !== undefined && { signal: request.signal }),
    }).catch((error: unknown) => {
      throw unanswered(error, { failed, request, url });
    });
    if (response.ok) return response;
    throw this.#refusal(response, await textOf(response, { failed, request, url }), failed);
  }

  async #once(
    request: CallContent & CallOptions & { readonly path: string },
    failed: FailedCall,
  ): Promise<unknown> {
    const timeoutMs = request.timeoutMs ?? this.#options.timeoutMs ?? timeoutMsDefault;
    const deadline = this.#parts.time.deadline(timeoutMs);
    const signal = request.signal === undefined ? deadline : AbortSignal.any([request.signal, deadline]);
    const bounded = { ...request, signal };
    try {
      const response = await this.open(bounded, failed);
      const url = this.addressOf(request.path);
      const text = await textOf(response, { failed, request: bounded, url });
      return this.#read(text, response, failed);
    } catch (error) {
      // Throw the caller's own abort reason.
      if (request.signal?.aborted === true) throw request.signal.reason;
      if (!deadline.aborted) throw error;
      const { origin } = this.addressOf(request.path);
      throw new UnansweredError(
        `${origin} did not respond within ${timeoutMs / 1_000} s`,
        failed,
        "timeout",
        error,
      );
    }
  }

  #read(text: string, response: Response, failed: FailedCall): unknown {
    if (text === "") {
      if (response.status === 204) return undefined;
      throw this.#unexpected(`responded with ${response.status} without any content`, response, failed);
    }
    try {
      return this.#parts.readJson(text);
    } catch {
      throw this.#unexpected("did not respond with JSON", response, failed);
    }
  }

  #refusal(response: Response, text: string, failed: FailedCall): PosthornClientError {
    const { status, type } = response;
    if (type === "opaqueredirect" || (status >= 300 && status < 400))
      return this.#unexpected(
        "redirects, and redirects are never followed because a key belongs to one server",
        response,
        failed,
      );
    const problem = problemOf(text, this.#parts.readJson);
    if (problem === null)
      return this.#unexpected(`responded with ${status} and no explanation`, response, failed);
    return new ApiError(problem, failed, this.#retryAfterMs(response));
  }

  #unexpected(what: string, response: Response, failed: FailedCall): UnexpectedAnswerError {
    return new UnexpectedAnswerError(
      `${this.addressOf(failed.path).origin} ${what}`,
      failed,
      response.status,
      response.headers.get("location"),
      this.#retryAfterMs(response),
    );
  }

  #retryAfterMs(response: Response): number | null {
    const field = response.headers.get("retry-after") ?? undefined;
    const retryAfter = parseRetryAfter(field, this.#parts.time.now());
    return retryAfter.kind === "delay" ? retryAfter.delayMs : null;
  }
}

function baseOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw new TypeError(`"${text}" is not the URL of a server; write it like https://hooks.example.com`);
  if (/\/v1\/?$/.test(url.pathname))
    throw new TypeError(`the URL of a server must not contain /v1: "${text}"`);
  return url.href.endsWith("/") ? url.href : `${url.href}/`;
}

interface Sent {
  readonly failed: FailedCall;
  readonly request: CallOptions;
  readonly url: URL;
}

async function textOf(response: Response, sent: Sent): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw unanswered(error, sent);
  }
}

function unanswered(error: unknown, { failed, request, url }: Sent): unknown {
  if (request.signal?.aborted === true) return request.signal.reason;
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return new UnansweredError(`cannot reach ${url.origin}: ${messageOf(cause)}`, failed, "unreachable", cause);
}

function problemOf(text: string, readJson: CallerParts["readJson"]): Problem | null {
  try {
    const value = readJson(text) as Partial<Problem> | null;
    return typeof value?.code === "string" && typeof value.title === "string" ? (value as Problem) : null;
  } catch {
    return null;
  }
}
