import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { eventOf } from "./record.ts";
import type { ArrivedRequest, RecordedEvent, RecordedRequest } from "./record.ts";

/** Target of the redirect; a correct sender never requests it. */
const redirectTarget = "/posthorn-check-redirected";
/** Long enough to differ from an ordinary first retry, short enough to wait for. */
const retryAfterSeconds = 3;

/** A receiver that misbehaves on purpose in ways that senders must handle. */
export interface SenderServer {
  readonly url: string;
  /** In order of their first request. */
  readonly events: readonly RecordedEvent[];
  /** Requests to the target of the redirect. */
  readonly followed: readonly RecordedRequest[];
  /** Waits for responses in flight. */
  close(): Promise<void>;
}

/** Recording limit; a sender that sends more gets 429 and is not recorded. */
const requestsMax = 1_000;
const bodyBytesMax = 8 * 1024 * 1024;
const keptBytesMax = 256 * 1024 * 1024;
const closeWithinMs = 1_000;

/**
 * Responds by order of events: the first one fails once with 503 and Retry-After, the second one is redirected once,
 * everything else is accepted. `arrived` is called after each response was sent. Rejects if the port is not available.
 */
export async function startSenderServer(options: {
  readonly port: number;
  readonly arrived: () => void;
}): Promise<SenderServer> {
  const notebook = new Notebook();
  const server = createServer((incoming, outgoing) => {
    if (incoming.method === "OPTIONS") return permit(incoming, outgoing);
    outgoing.on("finish", options.arrived);
    receive(incoming).then(
      (request) => answer(outgoing, notebook.note(request)),
      () => outgoing.destroy(),
    );
  });
  await listen(server, options.port);
  const { port } = server.address() as AddressInfo;
  const { events, followed } = notebook;
  return { url: `http://127.0.0.1:${port}/`, events, followed, close: () => close(server) };
}

type Answer = Pick<RecordedRequest, "status" | "retryAfterSeconds">;

const accepted: Answer = { status: 204, retryAfterSeconds: null };
const overloaded: Answer = { status: 503, retryAfterSeconds };
const redirected: Answer = { status: 307, retryAfterSeconds: null };
const tooMuch: Answer = { status: 429, retryAfterSeconds: 60 };

/** Chooses the responses, in the order in which requests were complete. */
class Notebook {
  readonly events: { readonly requests: RecordedRequest[] }[] = [];
  readonly followed: RecordedRequest[] = [];
  #requests = 0;
  #bytes = 0;

  note(request: ArrivedRequest): Answer {
    this.#requests += 1;
    this.#bytes += request.body.length;
    if (this.#requests > requestsMax || this.#bytes > keptBytesMax) return tooMuch;
    if (request.path.startsWith(redirectTarget)) {
      this.followed.push({ ...request, ...accepted });
      return accepted;
    }
    const known = eventOf(request, this.events);
    const event = known ?? { requests: [] };
    if (known === undefined) this.events.push(event);
    const isFirst = event.requests.length === 0;
    const chosen = (isFirst ? firstAnswers[this.events.indexOf(event)] : undefined) ?? accepted;
    event.requests.push({ ...request, ...chosen });
    return chosen;
  }
}

/** By position of an event; only its first request gets the special response. */
const firstAnswers: readonly Answer[] = [overloaded, redirected];

async function receive(incoming: IncomingMessage): Promise<ArrivedRequest> {
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

function answer(outgoing: ServerResponse, { status, retryAfterSeconds: seconds }: Answer): void {
  const headers = {
    ...(seconds === null ? {} : { "Retry-After": String(seconds) }),
    ...(status === redirected.status ? { Location: redirectTarget } : {}),
  };
  outgoing.writeHead(status, headers).end();
}

/** A CloudEvents sender asks for permission before it delivers (CEW-4.1); that request is not a delivery. */
function permit({ headers }: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.writeHead(200, {
    Allow: "POST",
    "WebHook-Allowed-Origin": headers["webhook-request-origin"] ?? "*",
    "WebHook-Allowed-Rate": headers["webhook-request-rate"] ?? "*",
  });
  outgoing.end();
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: "127.0.0.1" }, resolve);
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), closeWithinMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
