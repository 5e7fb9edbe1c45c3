import type { Receiver } from "../receiver.ts";
import { alreadyParsed } from "../receiver-error.ts";
import { exchange, type NodeRequest, type NodeResponse, writeAnswer } from "./node-exchange.ts";

interface ExpressRequest extends NodeRequest {
  /** Includes the path under which a router is mounted. */
  readonly originalUrl: string;
  readonly body?: unknown;
  /** The raw bytes, which Google Cloud Functions and Firebase keep next to the parsed body. */
  readonly rawBody?: unknown;
}

/**
 * A handler for Express 4 and 5. Use `all`, so that OPTIONS and wrong methods are answered as well.
 *
 * ```ts
 * app.all("/webhooks/posthorn", expressHandler(receiver));
 * app.use(express.json());
 * ```
 *
 * Mount it before `express.json()`, or after `express.raw({ type: () => true })`. If the bytes are no longer available,
 * `next` gets a ReceiverError `body_already_parsed`.
 */
export function expressHandler(
  receiver: Receiver,
): (request: ExpressRequest, response: NodeResponse, next: (error: unknown) => void) => void {
  return (request, response, next) => {
    answer(receiver, request).then((answered) => writeAnswer(response, answered), next);
  };
}

async function answer(receiver: Receiver, request: ExpressRequest) {
  const { originalUrl: url, body } = request;
  // Parsers ignore types that they do not support, so the bytes are lost only if the stream was read.
  if (request.readableDidRead !== true) return exchange(receiver, { request, url });
  if (request.rawBody instanceof Uint8Array)
    return exchange(receiver, { request, url, body: request.rawBody });
  if (body instanceof Uint8Array) return exchange(receiver, { request, url, body });
  throw alreadyParsed("Express", remedy);
}

const remedy = `Put the receiver before the parser:

  app.all("/webhooks/posthorn", expressHandler(receiver));
  app.use(express.json());

or keep the bytes on its route:

  app.all("/webhooks/posthorn", express.raw({ type: () => true }), expressHandler(receiver));
`;
