import { codeOf, messageOf } from "../core/thrown.ts";
import { CommandFailure, RefusedError } from "./failures.ts";

/** An object of the API as it came; commands print it and read a few fields. */
export type Json = Readonly<Record<string, unknown>>;

/** What a call may carry. `undefined` in a query or body means: not given. */
export interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly body?: unknown;
  /** Instead of `body`: bytes that are sent as they are. */
  readonly raw?: { readonly contentType: string; readonly body: Uint8Array<ArrayBuffer> };
  readonly headers?: Readonly<Record<string, string>>;
}

const timeoutMs = 60_000;

/**
 * The HTTP API for commands: one method, and every refusal becomes a failure with words for people. The key goes to a
 * server only after it has said, asked without the key, that it is a Posthorn.
 */
export class ApiClient {
  readonly #base: string;
  readonly #key: string;
  #recognised: Promise<void> | null = null;

  constructor(server: { readonly url: string; readonly key: string }) {
    this.#base = server.url.endsWith("/") ? server.url : `${server.url}/`;
    this.#key = server.key;
  }

  /** What another command needs to reach the same server; nothing when it is where commands look by themselves. */
  get urlFlag(): string {
    const url = this.#base.replace(/\/$/, "");
    return url === "http://127.0.0.1:8080" ? "" : ` --url ${url}`;
  }

  /** Of something on the same server. */
  addressOf(path: string): string {
    return new URL(path.replace(/^\//, ""), this.#base).href;
  }

  get(path: string, options: CallOptions = {}): Promise<Json> {
    return this.call("GET", { path, ...options });
  }

  post(path: string, options: CallOptions = {}): Promise<Json> {
    return this.call("POST", { path, ...options });
  }

  async call(method: string, options: CallOptions & { readonly path: string }): Promise<Json> {
    const url = new URL(this.addressOf(options.path));
    for (const [name, value] of Object.entries(options.query ?? {})) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== undefined) url.searchParams.append(name, String(one));
      }
    }
    this.#recognised ??= this.#recognise();
    await this.#recognised;
    const response = await this.#send(url, { method, ...options });
    const text = await response.text();
    if (isRedirect(response)) throw redirected(url, response);
    if (!response.ok) throw refusal({ status: response.status, text });
    if (text !== "") return parse(text, url);
    if (response.status === 204) return {};
    throw new CommandFailure(`${url.origin} answered ${response.status} without any content`, [notPosthorn]);
  }

  async #recognise(): Promise<void> {
    const url = new URL("v1", this.#base);
    const response = await fetchFrom(url, {});
    const text = await response.text();
    if (isRedirect(response)) throw redirected(url, response);
    if (!saysPosthorn(text)) {
      throw new CommandFailure(`${url.origin} is not a Posthorn server`, [
        `GET ${url.href} answered ${response.status} and did not say that it is one; the API key was not sent.`,
        "Say where Posthorn is with --url or POSTHORN_URL.",
      ]);
    }
  }

  #send(url: URL, { method, body, raw, headers }: CallOptions & { readonly method: string }) {
    const sent = raw?.body ?? (body === undefined ? undefined : JSON.stringify(body));
    return fetchFrom(url, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(sent !== undefined && { "content-type": raw?.contentType ?? "application/json" }),
        ...headers,
      },
      ...(sent !== undefined && { body: sent }),
    });
  }
}

const notPosthorn = "Is it a Posthorn server, or something in front of one?";

async function fetchFrom(url: URL, request: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...request, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    throw unreachable(url, error);
  }
}

/** The index of the API names its service; whatever stands in front of one may refuse the index as the API would. */
function saysPosthorn(text: string): boolean {
  const answer = readJson(text);
  return answer?.["service"] === "posthorn" || isProblem(answer);
}

function isRedirect({ status }: Response): boolean {
  return status >= 300 && status < 400;
}

function redirected(url: URL, response: Response): CommandFailure {
  const target = URL.parse(response.headers.get("location") ?? "", url);
  return new CommandFailure(`${url.origin} redirects to ${target?.origin ?? "another address"}`, [
    "An API key is not taken along. Say where Posthorn is with --url or POSTHORN_URL.",
  ]);
}

function parse(text: string, url: URL): Json {
  const answer = readJson(text);
  if (answer === null)
    throw new CommandFailure(`${url.origin} did not answer with a JSON object`, [notPosthorn]);
  return answer;
}

/** What OpenSSL makes of an answer in plain text. */
const withoutTls = new Set(["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG", "EPROTO"]);

/**
 * A number that reading would change is printed as the server wrote it: an event shows the numbers of its publisher. The
 * types that the build is made with do not know `JSON.rawJSON`.
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
    return new CommandFailure(`nothing answers at ${url.origin}: is the server running?`, [
      "Start it with npm start, or say where it is with --url or POSTHORN_URL.",
    ]);
  }
  if (url.protocol === "https:" && withoutTls.has(code)) {
    return new CommandFailure(`${url.origin} does not speak TLS`, [
      `Use http: --url ${url.origin.replace("https:", "http:")}`,
    ]);
  }
  if (url.protocol === "http:" && code === "UND_ERR_SOCKET") {
    return new CommandFailure(`${url.origin} closed the connection without an answer`, [
      `Perhaps it speaks TLS only: --url ${url.origin.replace("http:", "https:")}`,
    ]);
  }
  if (error instanceof Error && error.name === "TimeoutError") {
    return new CommandFailure(`${url.origin} did not answer within ${timeoutMs / 1_000} s`);
  }
  const told = cause instanceof Error ? cause : error;
  return new CommandFailure(`cannot reach ${url.origin}: ${messageOf(told)}`);
}

function refusal(answer: { readonly status: number; readonly text: string }): CommandFailure {
  const problem = readJson(answer.text);
  if (problem === null || !isProblem(problem))
    return new CommandFailure(`the server answered ${answer.status} and no explanation`);
  const { title, detail, errors } = problem;
  const code = String(problem["code"]);
  const fields = Array.isArray(errors) ? (errors as { field: string; message: string }[]) : [];
  const hints = fields.map(({ field, message }) => `  ${field === "" ? "the request" : field} ${message}`);
  if (code === "unauthenticated")
    hints.push("Set POSTHORN_KEY or --key; the admin key lies in the server's data folder.");
  return new RefusedError(`${String(detail ?? title)} (${answer.status} ${code})`, { code, hints });
}

function isProblem(answer: Json | null): boolean {
  return typeof answer?.["code"] === "string" && typeof answer["title"] === "string";
}

function readJson(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text, keepNumber);
    return typeof value === "object" && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}
