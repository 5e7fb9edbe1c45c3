import { CommandFailure } from "./failures.ts";

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

/** The HTTP API for commands: one method, and every refusal becomes a failure with words for people. */
export class ApiClient {
  readonly #base: string;
  readonly #key: string;

  constructor(server: { readonly url: string; readonly key: string }) {
    this.#base = server.url.endsWith("/") ? server.url : `${server.url}/`;
    this.#key = server.key;
  }

  /** What another command needs to reach the same server; nothing when it is where commands look by themselves. */
  get urlFlag(): string {
    const url = this.#base.replace(/\/$/, "");
    return url === "http://127.0.0.1:8080" ? "" : ` --url ${url}`;
  }

  get(path: string, options: CallOptions = {}): Promise<Json> {
    return this.call("GET", { path, ...options });
  }

  post(path: string, options: CallOptions = {}): Promise<Json> {
    return this.call("POST", { path, ...options });
  }

  async call(method: string, options: CallOptions & { readonly path: string }): Promise<Json> {
    const url = new URL(options.path.replace(/^\//, ""), this.#base);
    for (const [name, value] of Object.entries(options.query ?? {})) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== undefined) url.searchParams.append(name, String(one));
      }
    }
    const response = await this.#send(url, { method, ...options });
    const text = await response.text();
    if (!response.ok) throw refusal({ status: response.status, text });
    return text === "" ? {} : parse(text, url);
  }

  async #send(
    url: URL,
    { method, body, raw, headers }: CallOptions & { readonly method: string },
  ): Promise<Response> {
    const sent = raw?.body ?? (body === undefined ? undefined : JSON.stringify(body));
    try {
      return await fetch(url, {
        method,
        headers: {
          authorization: `Bearer ${this.#key}`,
          ...(sent !== undefined && { "content-type": raw?.contentType ?? "application/json" }),
          ...headers,
        },
        ...(sent !== undefined && { body: sent }),
        redirect: "error",
        signal: AbortSignal.timeout(timeoutMs),
      });
    } catch (error) {
      throw unreachable(url, error);
    }
  }
}

function parse(text: string, url: URL): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new CommandFailure(`${url.origin} did not answer with JSON; is it a Posthorn server?`);
  }
}

function unreachable(url: URL, error: unknown): CommandFailure {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (code === "ECONNREFUSED") {
    return new CommandFailure(`nothing answers at ${url.origin}: is the server running?`, [
      "Start it with npm start, or say where it is with --url or POSTHORN_URL.",
    ]);
  }
  if (error instanceof Error && error.name === "TimeoutError") {
    return new CommandFailure(`${url.origin} did not answer within ${timeoutMs / 1_000} s`);
  }
  const told = cause instanceof Error ? cause : error;
  return new CommandFailure(
    `cannot reach ${url.origin}: ${told instanceof Error ? told.message : String(told)}`,
  );
}

function refusal(answer: { readonly status: number; readonly text: string }): CommandFailure {
  const problem = readProblem(answer.text);
  if (problem === null) return new CommandFailure(`the server answered ${answer.status} and no explanation`);
  const { title, detail, code, errors } = problem;
  const fields = Array.isArray(errors) ? (errors as { field: string; message: string }[]) : [];
  const hints = fields.map(({ field, message }) => `  ${field === "" ? "the request" : field} ${message}`);
  if (code === "unauthenticated")
    hints.push("Set POSTHORN_KEY or --key; the admin key lies in the server's data folder.");
  return new CommandFailure(`${String(detail ?? title)} (${answer.status} ${String(code)})`, hints);
}

function readProblem(text: string): Json | null {
  try {
    const problem: unknown = JSON.parse(text);
    return typeof problem === "object" && problem !== null && "code" in problem ? { ...problem } : null;
  } catch {
    return null;
  }
}
