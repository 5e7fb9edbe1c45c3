import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { eventKeyOf } from "./record.ts";
import type { RecordedEvent, RecordedRequest } from "./record.ts";

/** Where a redirect points; a correct sender never asks for it. */
export const redirectTarget = "/posthorn-check-redirected";
/** Long enough to be told from an ordinary first retry, short enough to wait for. */
export const retryAfterSeconds = 3;

/** A receiver that misbehaves on purpose, as a sender has to expect. */
export interface SenderServer {
  readonly url: string;
  /** Events in order of their first request; requests without any key are in `anonymous`. */
  readonly events: readonly RecordedEvent[];
  readonly anonymous: readonly RecordedRequest[];
  /** Requests to the target of the redirect. */
  readonly followed: readonly RecordedRequest[];
  close(): Promise<void>;
}

const bodyBytesMax = 32 * 1024 * 1024;

/**
 * Answers by order of the events: the first one fails once with 503 and Retry-After, the second one is redirected once,
 * everything else is accepted. `arrived` is called after each answer.
 */
export async function startSenderServer(options: {
  readonly port: number;
  readonly arrived: () => void;
}): Promise<SenderServer> {
  const events = new Map<string, { readonly key: string; readonly requests: RecordedRequest[] }>();
  const anonymous: RecordedRequest[] = [];
  const followed: RecordedRequest[] = [];

  const record = (request: Arrived): RecordedRequest => {
    if (request.path.startsWith(redirectTarget)) return keep(followed, { ...request, ...accepted });
    const key = eventKeyOf(request.headers);
    if (key === null) return keep(anonymous, { ...request, ...accepted });
    const event = events.get(key) ?? { key, requests: [] };
    events.set(key, event);
    const place = [...events.keys()].indexOf(key);
    return keep(event.requests, { ...request, ...answerFor(place, event.requests.length) });
  };

  const server = createServer((incoming, outgoing) => {
    void receive(incoming)
      .then((request) => answer(outgoing, record(request)))
      .then(options.arrived, () => outgoing.destroy());
  });
  await listen(server, options.port);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    get events() {
      return [...events.values()];
    },
    anonymous,
    followed,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Arrived = Omit<RecordedRequest, "status" | "retryAfterSeconds">;
type Answer = Pick<RecordedRequest, "status" | "retryAfterSeconds">;

const accepted: Answer = { status: 204, retryAfterSeconds: null };
const overloaded: Answer = { status: 503, retryAfterSeconds };
const redirected: Answer = { status: 307, retryAfterSeconds: null };

function answerFor(place: number, requestsBefore: number): Answer {
  if (requestsBefore > 0 || place > 1) return accepted;
  return place === 0 ? overloaded : redirected;
}

function keep(list: RecordedRequest[], request: RecordedRequest): RecordedRequest {
  list.push(request);
  return request;
}

async function receive(incoming: IncomingMessage): Promise<Arrived> {
  const arrivedAtMs = performance.now();
  const receivedAt = Date.now();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new RangeError("the body is too large");
    chunks.push(chunk);
  }
  const { method = "", url: path = "/", headers } = incoming;
  return { method, path, headers, body: Buffer.concat(chunks), arrivedAtMs, receivedAt };
}

function answer(outgoing: ServerResponse, { status, retryAfterSeconds: seconds }: RecordedRequest): void {
  const headers = {
    ...(seconds === null ? {} : { "Retry-After": String(seconds) }),
    ...(status === redirected.status ? { Location: redirectTarget } : {}),
  };
  outgoing.writeHead(status, headers).end();
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: "127.0.0.1" }, resolve);
  });
}
