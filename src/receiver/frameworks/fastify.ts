import type { Receiver } from "../receiver.ts";
import { alreadyParsed } from "../receiver-error.ts";
import { exchange, type NodeRequest } from "./node-exchange.ts";

interface FastifyRequest {
  readonly raw: NodeRequest;
  readonly body: unknown;
  readonly originalUrl: string;
}

interface FastifyReply {
  code(status: number): FastifyReply;
  headers(values: Record<string, string>): FastifyReply;
  send(body?: unknown): FastifyReply;
}

type BodyStream = AsyncIterable<unknown>;

type PreParsingHook = (
  request: { readonly raw: NodeRequest },
  reply: unknown,
  payload: BodyStream,
  done: (error: Error | null, payload?: BodyStream) => void,
) => void;

/** The parts of a Fastify instance that the plugin needs. */
interface FastifyInstance {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    type: string,
    parser: (
      request: unknown,
      payload: BodyStream,
      done: (error: Error | null, body?: unknown) => void,
    ) => void,
  ): unknown;
  /** `never`, because no overload of Fastify's matches `addHook(name: string, …)`. */
  addHook(name: never, hook: never): unknown;
  all(
    path: string,
    handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  ): unknown;
}

/**
 * A plugin for Fastify 5. It registers its own parsers, so those of the application are unaffected.
 *
 * ```ts
 * await app.register(fastifyReceiver, { path: "/webhooks/posthorn", receiver });
 * ```
 *
 * Fails with a ReceiverError `body_already_parsed` if a hook of the application has already read the body.
 */
export async function fastifyReceiver(
  instance: FastifyInstance,
  { path, receiver }: { readonly path: string; readonly receiver: Receiver },
): Promise<void> {
  instance.removeAllContentTypeParsers();
  // Does not parse: the stream itself becomes the body and is read below with the receiver's limit.
  instance.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
  // Fastify responds with 415 to a Content-Type that it cannot parse, but the receiver decides which types are valid.
  // Fastify therefore gets a type that it can parse, and the receiver gets the original one.
  const received = new WeakMap<NodeRequest, string | string[]>();
  const keepType: PreParsingHook = ({ raw }, _reply, payload, done) => {
    const fields = raw.headers as Record<string, string | string[] | undefined>;
    const given = fields["content-type"];
    if (given !== undefined) {
      received.set(raw, given);
      fields["content-type"] = "application/octet-stream";
    }
    done(null, payload);
  };
  instance.addHook("preParsing" as never, keepType as never);
  instance.all(path, async ({ raw, body, originalUrl: url }, reply) => {
    const contentType = received.get(raw);
    if (contentType !== undefined)
      (raw.headers as Record<string, string | string[]>)["content-type"] = contentType;
    if (raw.readableDidRead === true) {
      throw alreadyParsed("Fastify", "Make sure that no hook reads `request.raw` on its path.\n");
    }
    const stream = body === undefined || body === null ? raw : (body as BodyStream);
    const answer = await exchange(receiver, { request: raw, url, stream });
    reply.code(answer.status).headers({ ...answer.headers });
    // As bytes, because Fastify adds a charset to the type of a string.
    const { body: content } = answer;
    return reply.send(
      typeof content === "string" ? new TextEncoder().encode(content) : (content ?? undefined),
    );
  });
}
