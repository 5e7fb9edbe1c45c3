/** Requests of senders below `/in/` and `/_webhooks/`: any method and media type, read as bytes, without an API key. */
import { type IncomingMessage, METHODS, type ServerResponse } from "node:http";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { PosthornError } from "../domain/errors.ts";
import { clientNetwork } from "../domain/http/network.ts";
import type {
  Inbound,
  InboundAnswer,
  InboundFault,
  InboundHead,
} from "../features/gateway/gateway-services.ts";
import { clientAddressReader, clientCertificateReader } from "./client-address.ts";
import type { ApiOptions } from "./context.ts";
import { foreignHeaders } from "./foreign-answer.ts";
import { type BodyMemory, bodyTooLarge, dropBody, readBody, type RequestBody } from "./dispatch.ts";

/** All inbound addresses are routed here, so that the router cannot refuse one before it is in the request log. */
const inboundRoute = "/in/";

/** Fastify's `rewriteUrl`; the handler reads `originalUrl`. */
export function routedInbound(url: string, basePath: string): string | null {
  return inboundPath(url, basePath) === null ? null : inboundRoute;
}

/** Path and query below the base path if the address belongs to the gateway, otherwise null. */
function inboundPath(url: string, basePath: string): string | null {
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
  const isBelow = basePath !== "" && target.startsWith(`${basePath}/`);
  const path = isBelow ? target.slice(basePath.length) : target;
  return path.startsWith("/in/") || path.startsWith("/_webhooks/") ? path : null;
}

/**
 * Registers the methods that Fastify does not route by default: they are answered with 405 and logged like any other.
 */
export function takeEveryMethod(app: FastifyInstance): void {
  for (const method of METHODS)
    if (method !== "CONNECT" && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
}

export function serveInbound(app: FastifyInstance, options: ApiOptions, memory: BodyMemory): void {
  const { gateway, limits } = options;
  const { inbound } = gateway;
  const bytesMax = limits.payloadBytesMax;
  const readHead = headReader(options);
  const headOf = ({ method, originalUrl: url, raw, socket }: FastifyRequest): InboundHead =>
    readHead({ method, url, rawHeaders: raw.rawHeaders, peer: socket.remoteAddress });
  void app.register((child, _, done) => {
    child.setErrorHandler((error: FastifyError, request, reply) => {
      dropBody(request.raw);
      const answer = inbound.handle({ ...headOf(request), body: new Uint8Array(), fault: faultOf(error) });
      answerWith(answer, request, reply);
    });
    // The body is read here rather than by a parser, because Fastify refuses media types that it cannot parse.
    child.addHook("onRequest", (request, reply) => {
      const head = headOf(request);
      const accept = (): Promise<InboundAnswer> => withBody(inbound, request.raw, head, bytesMax, memory);
      const refusing = inbound.refuse(head);
      if (refusing === null) return answerWith(accept(), request, reply);
      const answer = refusing.then((refused) => {
        if (refused === null) return accept();
        dropBody(request.raw);
        return refused;
      });
      answerWith(answer, request, reply);
    });
    child.route({
      method: child.supportedMethods,
      url: inboundRoute,
      exposeHeadRoute: false,
      config: { takesEncodings: true },
      handler: () => {
        throw new Error("inbound requests are answered by the onRequest hook");
      },
    });
    done();
  });
}

/** The request data from the connection. */
interface RawHead extends Pick<InboundHead, "method" | "url" | "rawHeaders"> {
  readonly peer: string | undefined;
}

function headReader(options: ApiOptions): (raw: RawHead) => InboundHead {
  const { basePath = "", clientCertificates = null, trustedProxies = [] } = options;
  const addressOf = clientAddressReader(trustedProxies);
  const certificateOf =
    clientCertificates === null ? () => null : clientCertificateReader(clientCertificates);
  return ({ method, url, rawHeaders, peer }) => ({
    method,
    url: inboundPath(url, basePath) ?? url,
    rawHeaders,
    clientAddress: addressOf(peer, rawHeaders),
    clientCertificate: certificateOf(peer, rawHeaders),
  });
}

/** Handles requests that Node refuses before they reach Fastify. */
export class RefusedInbound {
  readonly #options: ApiOptions;
  readonly #headOf: (raw: RawHead) => InboundHead;

  constructor(options: ApiOptions) {
    this.#options = options;
    this.#headOf = headReader(options);
  }

  /** Refuses `Expect` values other than `100-continue`. Returns false for an address outside the gateway. */
  expectation(request: IncomingMessage, response: ServerResponse): boolean {
    const { method = "GET", url = "/", rawHeaders, socket } = request;
    if (inboundPath(url, this.#options.basePath ?? "") === null) return false;
    dropBody(request);
    response.setHeader("connection", "close");
    this.#refuse({ method, url, rawHeaders, peer: socket.remoteAddress }, expectationFault).then(
      (answer) => writeInbound(response, method, answer),
      () => response.destroy(),
    );
    return true;
  }

  /** Logs an unparsable request if its first line still identifies a source. The response is sent elsewhere. */
  unparsed(fault: Error & { readonly rawPacket?: unknown }, peer: string | undefined, status: number): void {
    const packet = fault.rawPacket;
    if (!(packet instanceof Uint8Array)) return;
    const start = Buffer.from(packet.buffer, packet.byteOffset, Math.min(packet.byteLength, firstLineMax));
    const [, method = "", url = ""] =
      /^([A-Z]{1,20}) ([\x21-\x7e]+) HTTP\/1\.[01]\r?\n/.exec(start.toString("latin1")) ?? [];
    if (inboundPath(url, this.#options.basePath ?? "") === null) return;
    const isTooLarge = status === 431;
    const refusal = {
      status,
      cause: isTooLarge ? "headers_too_large" : "malformed_request",
      detail: isTooLarge ? "The headers are too large." : "The request is not well-formed HTTP.",
      retryAfterSeconds: null,
    };
    void this.#refuse({ method, url, rawHeaders: [], peer }, refusal).catch(() => undefined);
  }

  #refuse(raw: RawHead, fault: InboundFault): Promise<InboundAnswer> {
    const { inbound } = this.#options.gateway;
    return inbound.handle({ ...this.#headOf(raw), body: new Uint8Array(), fault });
  }
}

const firstLineMax = 9_000;
const expectationFault: InboundFault = {
  status: 417,
  cause: "unmet_expectation",
  detail: "Only the expectation 100-continue is supported.",
  retryAfterSeconds: null,
};

const bodyless: ReadonlySet<string> = new Set(["GET", "HEAD", "TRACE"]);

function withBody(
  inbound: Inbound,
  raw: IncomingMessage,
  head: InboundHead,
  bytesMax: number,
  memory: BodyMemory,
): Promise<InboundAnswer> {
  if (bodyless.has(head.method)) {
    dropBody(raw);
    return inbound.handle({ ...head, body: new Uint8Array() });
  }
  return new Promise<InboundAnswer>((resolve) => {
    readBody(
      raw,
      { bytesMax, memory, caller: clientNetwork(head.clientAddress ?? "") },
      (error, body?: RequestBody) => {
        const whole = {
          ...head,
          body: body === bodyTooLarge ? null : (body ?? new Uint8Array()),
          ...(error !== null && { fault: faultOf(error) }),
        };
        resolve(inbound.handle(whole));
      },
    );
  });
}

/** Translates an error of a hook or of the body reader into a gateway fault. */
function faultOf(error: Error & { readonly statusCode?: number }): InboundFault {
  if (error instanceof PosthornError)
    return {
      status: error.status,
      cause: error.code === "unavailable" ? "overloaded" : "malformed_request",
      detail: error.message,
      retryAfterSeconds: error.retryAfterSeconds,
    };
  const { statusCode = 500 } = error;
  const isTheirs = statusCode >= 400 && statusCode < 500;
  return {
    status: isTheirs ? statusCode : 500,
    cause: isTheirs ? "malformed_request" : "internal_error",
    detail: isTheirs ? error.message : "The request was not processed. Please retry later.",
    retryAfterSeconds: null,
  };
}

function answerWith(answer: Promise<InboundAnswer>, request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack();
  const { raw } = reply;
  answer.then(
    (given) => {
      // A kept-alive connection would delay a stopping server by its grace period.
      if (!reply.server.server.listening) raw.setHeader("connection", "close");
      writeInbound(raw, request.method, given);
    },
    () => raw.destroy(),
  );
}

/** The only place where bytes of receivers and tenants leave this origin in a response to a sender. */
function writeInbound(raw: ServerResponse, method: string, answer: InboundAnswer): void {
  const { status, headers, body } = answer;
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const hasContent = status >= 200 && status !== 204 && status !== 304;
  const safe = foreignHeaders(headers, hasContent && bytes.byteLength > 0);
  // RFC 9110, 8.6: no Content-Length on 1xx, 204 and 304.
  raw.writeHead(status, hasContent ? { ...safe, "content-length": bytes.byteLength } : safe);
  raw.end(method === "HEAD" || !hasContent ? undefined : bytes);
}
