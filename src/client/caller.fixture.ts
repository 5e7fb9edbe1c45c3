import { Caller, type ConnectionOptions, type Time } from "./caller.ts";

/** A request as the server received it. */
export interface SeenRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string;
}

type Reply = Response | Error | ((request: SeenRequest) => Response | Promise<Response>);

/** A caller that uses no network and does not wait. Each request gets the next reply; the last reply is repeated. */
export function callerWith(replies: readonly Reply[], options: Partial<ConnectionOptions> = {}) {
  const seen: SeenRequest[] = [];
  const slept: number[] = [];
  const time: Time = {
    now: () => 1_800_000_000_000,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      slept.push(ms);
    },
    deadline: () => new AbortController().signal,
  };
  const answer: typeof fetch = async (input, init) => {
    const body = typeof init?.body === "string" ? init.body : "";
    const request = {
      method: init?.method ?? "GET",
      url: new URL(input instanceof Request ? input.url : input),
      headers: new Headers(init?.headers),
      body,
    };
    seen.push(request);
    const reply = replies[Math.min(seen.length, replies.length) - 1];
    if (reply instanceof Error) throw reply;
    if (typeof reply === "function") return reply(request);
    return reply?.clone() ?? json({});
  };
  const connection = { url: "https://hooks.example.com", key: "phk_test", fetch: answer, ...options };
  return { seen, slept, caller: new Caller(connection, { time, random: () => 1 }) };
}

export function json(body: unknown, init: ResponseInit = {}): Response {
  return new Response(JSON.stringify(body), init);
}

export function problem(status: number, code: string, headers: Record<string, string> = {}): Response {
  const body = { type: `/docs/errors#${code}`, title: "No", status, detail: `no: ${code}`, code };
  return json(body, { status, headers: { "content-type": "application/problem+json", ...headers } });
}
