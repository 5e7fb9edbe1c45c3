import { Caller } from "../client/caller.ts";
import { ApiError, UnansweredError, UnexpectedAnswerError } from "../client/client-error.ts";
import { readStream, type StreamedEvent, type StreamOptions } from "../client/stream.ts";
import { codeOf, messageOf } from "../domain/thrown.ts";
import { CommandFailure, RefusedError } from "./failures.ts";

/** An API object that is not validated. Commands print it and read a few fields. */
export type Json = Readonly<Record<string, unknown>>;

/** Options of a call. `undefined` in a query or body means omitted. */
export interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly body?: unknown;
  /** Raw bytes that are sent instead of `body`. */
  readonly raw?: { readonly contentType: string; readonly body: Uint8Array<ArrayBuffer> };
  readonly headers?: Readonly<Record<string, string>>;
}

const timeoutMs = 60_000;

/** Few retries, because a person is waiting and can repeat the command. */
const retry = {
  attemptsMax: 3,
  retryAfterMsMax: 10_000,
  mayRetry: (error: unknown) => error instanceof ApiError,
};

/**
 * The API client of commands. It converts errors into human-readable failures. The key is sent to a server only after
 * the server has identified itself as Posthorn in response to a request without the key.
 */
export class ApiClient {
  readonly #caller: Caller;
  #recognised: Promise<void> | null = null;

  constructor(url: string, key: string) {
    this.#caller = new Caller({ url, key, timeoutMs, retry }, { readJson: readKeepingNumbers });
  }

  /** `--url` flag for suggested commands. Empty if the server has the default address. */
  get urlFlag(): string {
    const url = this.addressOf("").replace(/\/$/, "");
    return url === "http://127.0.0.1:8080" ? "" : ` --url ${url}`;
  }

  /** Absolute URL of a path on the server. */
  addressOf(path: string): string {
    return this.#caller.addressOf(path).href;
  }

  /** Opens `GET /v1/stream`. */
  async stream(options: StreamOptions): Promise<AsyncIterable<StreamedEvent>> {
    await this.#ensureRecognised();
    return readStream(this.#caller, options);
  }

  get(path: string, options: CallOptions = {}): Promise<Json> {
    return this.call("GET", { path, ...options });
  }

  post(path: string, options: CallOptions = {}): Promise<Json> {
    return this.call("POST", { path, ...options });
  }

  async call(method: string, options: CallOptions & { readonly path: string }): Promise<Json> {
    await this.#ensureRecognised();
    const { origin } = this.#caller.addressOf(options.path);
    try {
      const answer = (await this.#caller.call(method, options)) ?? {};
      if (typeof answer === "object") return { ...answer };
    } catch (error) {
      throw inWords(error, this.#caller.addressOf(options.path));
    }
    throw new CommandFailure(`${origin} did not respond with a JSON object`, [notPosthorn]);
  }

  #ensureRecognised(): Promise<void> {
    this.#recognised ??= this.#recognise();
    return this.#recognised;
  }

  async #recognise(): Promise<void> {
    const url = this.#caller.addressOf("v1");
    const response = await fetchFrom(url);
    const text = await response.text();
    if (response.status >= 300 && response.status < 400)
      throw redirected(url, response.headers.get("location"));
    if (!saysPosthorn(text)) {
      throw new CommandFailure(`${url.origin} is not a Posthorn server`, [
        `GET ${url.href} responded with ${response.status} and no Posthorn index. The API key was not sent.`,
        "Set the server address with --url or POSTHORN_URL.",
      ]);
    }
  }
}

/** Converts API errors into readable failures. Other errors are returned unchanged. */
function inWords(error: unknown, url: URL): unknown {
  if (error instanceof ApiError) return refusal(error);
  if (error instanceof UnansweredError) return unreachable(url, error);
  if (!(error instanceof UnexpectedAnswerError)) return error;
  if (error.location !== null || (error.status >= 300 && error.status < 400))
    return redirected(url, error.location);
  return new CommandFailure(error.message, [notPosthorn]);
}

const notPosthorn = "Check that this is a Posthorn server, and not a proxy or another service.";

async function fetchFrom(url: URL): Promise<Response> {
  try {
    return await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    throw unreachable(url, error);
  }
}

/** Recognizes the API index. An API error is accepted too, because a proxy may protect the index. */
function saysPosthorn(text: string): boolean {
  const answer = readJson(text);
  return answer?.["service"] === "posthorn" || isProblem(answer);
}

function redirected(url: URL, location: string | null): CommandFailure {
  const target = URL.parse(location ?? "", url);
  return new CommandFailure(`${url.origin} redirects to ${target?.origin ?? "another address"}`, [
    "The API key is not sent to redirect targets. Set the server address with --url or POSTHORN_URL.",
  ]);
}

/** OpenSSL errors that indicate that the server does not use TLS. */
const withoutTls = new Set(["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG", "EPROTO"]);

/**
 * Keeps the source text of numbers that parsing would change, so that payloads are printed as published. `JSON.rawJSON`
 * is missing from the types used for the build.
 */
function keepNumber(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined || String(value) === context.source)
    return value;
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(context.source);
}

function unreachable(url: URL, error: unknown): CommandFailure {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = codeOf(cause) ?? "";
  if (code === "ECONNREFUSED") {
    return new CommandFailure(`no server is running at ${url.origin}`, [
      "Start it with npm start, or set its address with --url or POSTHORN_URL.",
    ]);
  }
  if (url.protocol === "https:" && withoutTls.has(code)) {
    return new CommandFailure(`${url.origin} does not support TLS`, [
      `Use http: --url ${url.origin.replace("https:", "http:")}`,
    ]);
  }
  if (url.protocol === "http:" && code === "UND_ERR_SOCKET") {
    return new CommandFailure(`${url.origin} closed the connection without a response`, [
      `It may require TLS: --url ${url.origin.replace("http:", "https:")}`,
    ]);
  }
  if (isTimeout(error)) {
    return new CommandFailure(`${url.origin} did not respond within ${timeoutMs / 1_000} s`);
  }
  const told = cause instanceof Error ? cause : error;
  return new CommandFailure(`cannot reach ${url.origin}: ${messageOf(told)}`);
}

function isTimeout(error: unknown): boolean {
  return error instanceof UnansweredError
    ? error.reason === "timeout"
    : error instanceof Error && error.name === "TimeoutError";
}

function refusal({ message, status, code, errors }: ApiError): CommandFailure {
  const hints = errors.map(({ field, message: what }) => `  ${field === "" ? "the request" : field} ${what}`);
  if (code === "unauthenticated")
    hints.push("Set POSTHORN_KEY or --key. The admin key is in the server's data folder.");
  return new RefusedError(`${message} (${status} ${code})`, code, hints);
}

function isProblem(answer: Json | null): boolean {
  return typeof answer?.["code"] === "string" && typeof answer["title"] === "string";
}

function readKeepingNumbers(text: string): unknown {
  return JSON.parse(text, keepNumber);
}

function readJson(text: string): Json | null {
  try {
    const value = readKeepingNumbers(text);
    return typeof value === "object" && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}
