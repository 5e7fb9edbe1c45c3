import { readBody, type ReadBody } from "../message/read-body.ts";
import type { ReceiverAnswer } from "../answers.ts";
import type { Receiver } from "../receiver.ts";
import { alreadyParsed, ReceiverError } from "../receiver-error.ts";

/**
 * A handler for every framework and runtime with the Fetch API: Next.js, SvelteKit, Remix, Deno, Bun, workers.
 *
 * ```ts
 * export const POST = fetchHandler(receiver); // Next.js
 * Deno.serve(fetchHandler(receiver));
 * ```
 *
 * Rejects with a ReceiverError `body_already_parsed` if the body of the request was already used.
 */
export function fetchHandler(receiver: Receiver): (request: Request) => Promise<Response> {
  const remedy =
    "Call the receiver first, or pass it `request.clone()`, created before the body is read:\n\n  const handle = fetchHandler(receiver);\n  const response = await handle(request.clone());\n";
  return async (request) => {
    if (!isFetchRequest(request)) throw notFetch("fetchHandler");
    if (request.bodyUsed) throw alreadyParsed("The application", remedy);
    return toResponse(await exchangeFetch(receiver, request));
  };
}

/** Detects objects that only look like a request, which would otherwise cause obscure errors. */
export function isFetchRequest(request: unknown): boolean {
  const { headers, body } = (request ?? {}) as {
    readonly headers?: { get?: unknown };
    readonly body?: unknown;
  };
  return typeof headers?.get === "function" && body !== undefined;
}

export function notFetch(name: string): ReceiverError {
  return new ReceiverError(
    "misconfigured",
    `${name} was not called with a Request of the Fetch API. Use the adapter of your framework: nodeHttpListener, expressHandler, fastifyReceiver or honoHandler.`,
  );
}

export async function exchangeFetch(receiver: Receiver, request: Request): Promise<ReceiverAnswer> {
  const { method, headers, body } = request;
  const read = await readStream(body, receiver);
  if (read.kind === "too_large") return receiver.refuse(read.error);
  return receiver.handle({ method, url: request.url, headers, body: read.body });
}

async function readStream(stream: ReadableStream<Uint8Array> | null, receiver: Receiver): Promise<ReadBody> {
  if (stream === null) return { kind: "read", body: new Uint8Array() };
  const reader = stream.getReader();
  // Streams are not iterable in every runtime.
  const read = await readBody(
    {
      next: async () => {
        const { done, value } = await reader.read();
        return done ? { done: true, value: undefined } : { done: false, value };
      },
    },
    receiver.bodyBytesMax,
  );
  if (read.kind === "too_large" && !read.isAtEnd) await reader.cancel();
  return read;
}

export function toResponse({ status, headers, body }: ReceiverAnswer): Response {
  return new Response(body as string | Uint8Array<ArrayBuffer> | null, { status, headers });
}
