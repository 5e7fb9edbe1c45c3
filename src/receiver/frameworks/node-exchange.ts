import { readBody } from "../message/read-body.ts";
import { receivedHeaders } from "../message/message.ts";
import type { ReceiverAnswer } from "../answers.ts";
import { ReceiverError } from "../receiver-error.ts";
import type { Receiver } from "../receiver.ts";

/** The parts of Node's `IncomingMessage` that the kit needs. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Whether any code has read from the body. */
  readonly readableDidRead?: boolean;
  [Symbol.asyncIterator](): AsyncIterator<unknown>;
}

/** The parts of Node's `ServerResponse` that the kit needs. */
export interface NodeResponse {
  /** Whether a response was sent. */
  readonly headersSent?: boolean;
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body?: string | Uint8Array): unknown;
}

interface NodeExchange {
  readonly request: NodeRequest;
  /** URL as received, before a framework changed it. */
  readonly url: string;
  /** Source of the body; defaults to the request itself. */
  readonly stream?: AsyncIterable<unknown>;
  /** The body, if it was already read and its bytes were kept. */
  readonly body?: Uint8Array;
}

/** An object of a different framework would cause an obscure error, and only after waiting for a body. */
function notNode(): ReceiverError {
  return new ReceiverError(
    "misconfigured",
    "the adapter was not called with a request of node:http. Use the adapter of your framework: nodeHttpListener, expressHandler, fastifyReceiver, honoHandler or fetchHandler.",
  );
}

/** Reads a message from a Node request and lets the receiver respond to it. */
export async function exchange(receiver: Receiver, exchanged: NodeExchange): Promise<ReceiverAnswer> {
  const { request, url, stream = request } = exchanged;
  if (!(Symbol.asyncIterator in stream)) throw notNode();
  const { method = "GET" } = request;
  const headers = receivedHeaders(Object.entries(request.headers));
  if (exchanged.body !== undefined) {
    return receiver.handle({ method, url, headers, body: exchanged.body });
  }
  const read = await readBody(
    stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>,
    receiver.bodyBytesMax,
  );
  if (read.kind === "read") return receiver.handle({ method, url, headers, body: read.body });
  const answer = receiver.refuse(read.error);
  return read.isAtEnd ? answer : { ...answer, headers: { ...answer.headers, connection: "close" } };
}

/**
 * Writes nothing if middleware has already responded, for example after its own timeout: a second response would throw.
 */
export function writeAnswer(response: NodeResponse, { status, headers, body }: ReceiverAnswer): void {
  if (response.headersSent === true) return;
  response.writeHead(status, { ...headers });
  if (body === null) response.end();
  else response.end(body);
}
