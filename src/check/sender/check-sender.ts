import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Profile } from "../../domain/profile.ts";
import type { MessageVerifier } from "../../receiver/message/message.ts";
import { type Finding, findingOf, NothingToExamine } from "../finding.ts";
import {
  type ArrivedRequest,
  type RecordedEvent,
  type RecordedRequest,
  type SenderRule,
  type SenderSession,
  eventOf,
  messageRules,
  retryRules,
} from "./rules.ts";

/** Target of the redirect; a correct sender never requests it. */
const redirectTarget = "/posthorn-check-redirected";
/** Long enough to differ from an ordinary first retry, short enough to wait for. */
const retryAfterSeconds = 3;

/** A receiver that misbehaves intentionally, in ways that senders must handle. */
interface SenderServer {
  readonly url: string;
  /** In order of their first request. */
  readonly events: readonly RecordedEvent[];
  /** Requests to the target of the redirect. */
  readonly followed: readonly RecordedRequest[];
  /** Closes the server after waiting for the responses in flight. */
  close(): Promise<void>;
}

/** Recording limit. If a sender sends more requests, they get 429 and are not recorded. */
const requestsMax = 1_000;
const bodyBytesMax = 8 * 1024 * 1024;
const keptBytesMax = 256 * 1024 * 1024;
const closeWithinMs = 1_000;

/**
 * Starts a receiver whose responses depend on the event: the first event fails once with 503 and Retry-After, the
 * second is redirected once, and all others are accepted. Calls `arrived` after sending each response. Rejects if the
 * port is not available.
 */
export async function startSenderServer(port: number, arrived: () => void): Promise<SenderServer> {
  const notebook = new Notebook();
  const server = createServer((incoming, outgoing) => {
    if (incoming.method === "OPTIONS") return permit(incoming, outgoing);
    outgoing.on("finish", arrived);
    receive(incoming).then(
      (request) => answer(outgoing, notebook.note(request)),
      () => outgoing.destroy(),
    );
  });
  await listen(server, port);
  const address = server.address() as AddressInfo;
  const { events, followed } = notebook;
  return { url: `http://127.0.0.1:${address.port}/`, events, followed, close: () => close(server) };
}

type Answer = Pick<RecordedRequest, "status" | "retryAfterSeconds">;

const accepted: Answer = { status: 204, retryAfterSeconds: null };
const overloaded: Answer = { status: 503, retryAfterSeconds };
const redirected: Answer = { status: 307, retryAfterSeconds: null };
const tooMuch: Answer = { status: 429, retryAfterSeconds: 60 };

/** Records the requests in the order in which they were completely received, and chooses the response to each. */
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

/** Special responses by event position: only the first request of the first and of the second event gets one. */
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

/** A CloudEvents sender requests permission before it delivers (CEW-4.1); that request is not a delivery. */
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

export interface CheckSenderOptions {
  /** 0 selects a free port. */
  readonly port: number;
  readonly profile: Profile;
  readonly verifier: MessageVerifier | null;
  /** The token that the sender should send. If null, a token is required only if the profile requires one. */
  readonly bearerToken: string | null;
  /** Observation ends after this time, or earlier when all expected requests arrived. */
  readonly durationMs: number;
  /** Called once with the URL to send to. */
  readonly listening: (url: string) => void;
  /** Called after each request. */
  readonly arrived: (requests: number, events: number) => void;
  /** Ends the observation early. */
  readonly signal: AbortSignal;
}

/** All rules in the order of the check. */
export const senderRules: readonly SenderRule[] = [...messageRules, ...retryRules];

/**
 * Checks a sender: listens, fails intentionally, and evaluates the requests. Throws NothingToExamine if there were no
 * requests, and the error of `listen` if the port is not available.
 */
export async function checkSender(options: CheckSenderOptions): Promise<readonly Finding[]> {
  const ended = Promise.withResolvers<null>();
  const server = await startSenderServer(options.port, () => {
    const { events } = server;
    const requests = events.reduce((sum, event) => sum + event.requests.length, server.followed.length);
    options.arrived(requests, events.length);
    if (hasSeenEverything(server)) ended.resolve(null);
  });
  const timer = setTimeout(() => ended.resolve(null), options.durationMs);
  options.signal.addEventListener("abort", () => ended.resolve(null), { once: true });
  try {
    options.listening(server.url);
    await ended.promise;
  } finally {
    clearTimeout(timer);
    await server.close();
  }
  return judge(server, options);
}

/** Whether the first event was retried, and the second one was retried or its redirect was followed. */
function hasSeenEverything({ events, followed }: SenderServer): boolean {
  const [first, second] = events;
  if (first === undefined || first.requests.length < 2) return false;
  return followed.length > 0 || (second !== undefined && second.requests.length > 1);
}

async function judge(
  { url, events, followed }: SenderServer,
  { profile, verifier, bearerToken }: CheckSenderOptions,
): Promise<readonly Finding[]> {
  if (events.length === 0) throw new NothingToExamine("no request arrived", [`Send two events to ${url}`]);
  const requests = events
    .flatMap((event) => event.requests)
    .toSorted((a, b) => a.arrivedAtMs - b.arrivedAtMs);
  const session: SenderSession = { profile, verifier, bearerToken, events, requests, followed };
  const findings: Finding[] = [];
  for (const rule of senderRules) findings.push(findingOf(rule, await rule.judge(session)));
  return findings;
}
