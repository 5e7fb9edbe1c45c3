/** Requests of senders below `/in/` and `/_webhooks/`: any method and media type, read as bytes, without an API key. */
import { createHash, X509Certificate } from "node:crypto";
import { type IncomingMessage, METHODS, type ServerResponse } from "node:http";
import { BlockList, isIPv4, isIPv6 } from "node:net";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { PosthornError } from "../domain/errors.ts";
import type { ClientCertificateSeen } from "../domain/http/client-certificate.ts";
import { clientNetwork } from "../domain/http/network.ts";
import type {
  Inbound,
  InboundAnswer,
  InboundFault,
  InboundHead,
} from "../features/gateway/gateway-services.ts";
import type { ApiOptions } from "./context.ts";
import { type BodyMemory, bodyTooLarge, dropBody, readBody, type RequestBody } from "./dispatch.ts";
import { foreignHeaders } from "./foreign-answer.ts";

/** All inbound addresses are routed here, so that the router cannot refuse one before it is in the request log. */
const inboundRoute = "/in/";

/** Implements Fastify's `rewriteUrl`; the handler reads `originalUrl`. */
export function routedInbound(url: string, basePath: string): string | null {
  return inboundPath(url, basePath) === null ? null : inboundRoute;
}

/** Path and query below the base path if the address belongs to the gateway; null if it does not. */
function inboundPath(url: string, basePath: string): string | null {
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
  const isBelow = basePath !== "" && target.startsWith(`${basePath}/`);
  const path = isBelow ? target.slice(basePath.length) : target;
  return path.startsWith("/in/") || path.startsWith("/_webhooks/") ? path : null;
}

/**
 * Registers the methods that Fastify does not route by default. Their requests are answered with 405 and logged like
 * all others.
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

/** The data of a request that is available from its head and its connection. */
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

/** Converts an error of a hook or of the body reader to a gateway fault. */
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

/** The only place where bytes of receivers and tenants are sent from this origin in a response to a sender. */
function writeInbound(raw: ServerResponse, method: string, answer: InboundAnswer): void {
  const { status, headers, body } = answer;
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const hasContent = status >= 200 && status !== 204 && status !== 304;
  const safe = foreignHeaders(headers, hasContent && bytes.byteLength > 0);
  // RFC 9110, 8.6: no Content-Length on 1xx, 204 and 304.
  raw.writeHead(status, hasContent ? { ...safe, "content-length": bytes.byteLength } : safe);
  raw.end(method === "HEAD" || !hasContent ? undefined : bytes);
}

/** The IP address of a sender: that of the connection, or the one that trusted proxies report in `X-Forwarded-For`. */

type ClientAddressReader = (peer: string | undefined, rawHeaders: readonly string[]) => string;

const forwardedFor = "x-forwarded-for";
/** Maximum number of addresses read from the end of the header; longer chains of proxies are not trusted. */
const hopsMax = 16;

/**
 * Reads the header from its end, because each proxy appends the address that it saw. The first address that is not a
 * trusted proxy is the sender's. All earlier values were written by the sender.
 */
export function clientAddressReader(trustedProxies: readonly string[]): ClientAddressReader {
  const trusted = blocksOf(trustedProxies);
  return (peer, rawHeaders) => {
    let address = plainAddress(peer ?? "");
    if (!isTrusted(trusted, address)) return address;
    const values = rawHeaders.filter(
      (_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === forwardedFor,
    );
    const hops = values.join(",").split(",").slice(-hopsMax);
    for (const hop of hops.toReversed()) {
      const next = plainAddress(hop.trim());
      if (!isIPv4(next) && !isIPv6(next)) return address;
      address = next;
      if (!isTrusted(trusted, address)) return address;
    }
    return address;
  };
}

function blocksOf(blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = "", prefix] = block.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    list.addSubnet(address, Number(prefix ?? (family === "ipv6" ? 128 : 32)), family);
  }
  return list;
}

function isTrusted(trusted: BlockList, peer: string | undefined): boolean {
  const address = plainAddress(peer ?? "");
  if (isIPv4(address)) return trusted.check(address, "ipv4");
  return isIPv6(address) && trusted.check(address, "ipv6");
}

/** Strips the port, brackets, zone and the IPv4-mapped prefix. */
export function plainAddress(text: string): string {
  const inner = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return inner.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
}

// The client certificate of a sender, as reported by the TLS-terminating proxy.

/** The header with the certificate, and the proxies that may set it. */
export interface ClientCertificateSource {
  readonly header: string;
  /** CIDR blocks of the proxies. */
  readonly trustedProxies: readonly string[];
}

/** Null if no trusted proxy reported a certificate. */
type ClientCertificateReader = (
  peer: string | undefined,
  rawHeaders: readonly string[],
) => ClientCertificateSeen | null;

const valueLengthMax = 16_384;

/**
 * Reads the certificate from the header. The header is ignored if it does not come from a trusted proxy, because a
 * sender could have written it.
 */
export function clientCertificateReader(source: ClientCertificateSource): ClientCertificateReader {
  const header = source.header.toLowerCase();
  const trusted = blocksOf(source.trustedProxies);
  return (peer, rawHeaders) => {
    if (!isTrusted(trusted, peer)) return null;
    const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === header);
    const [value] = values;
    // If the header has two values, the proxy may have left one in place that the sender wrote.
    if (value === undefined || values.length > 1 || value.length > valueLengthMax) return null;
    return readCertificate(value.trim());
  };
}

/**
 * Accepts RFC 9440 (`:base64:`), URL-encoded PEM (nginx `$ssl_client_escaped_cert`, Apache), bare base64 (Traefik), and
 * Envoy's `X-Forwarded-Client-Cert` with `Hash` or `Cert` and a single hop. Null for everything else.
 */
export function readCertificate(value: string): ClientCertificateSeen | null {
  if (/^(By|Hash|Cert|Chain|Subject|URI|DNS)=/i.test(value)) return fromElement(value);
  const text = value.includes("%") ? decoded(value) : value;
  if (text === null) return null;
  const pem = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/.exec(text)?.[1];
  const base64 = pem ?? /^:([A-Za-z0-9+/=]+):$/.exec(text)?.[1] ?? /^([A-Za-z0-9+/=]+)(,|$)/.exec(text)?.[1];
  return base64 === undefined ? null : fromDer(Buffer.from(base64, "base64"));
}

/**
 * A name and value, optionally quoted. Values from the certificate subject are quoted, so they cannot be mistaken for
 * other names or values.
 */
const member = /([A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^;,"=]*)/;
const oneElement = new RegExp(`^${member.source}(?:;${member.source})*$`);

/**
 * Reads `By=…;Hash=…;Cert="…"`. With several elements or a repeated hash, the value set by the proxy cannot be
 * identified.
 */
function fromElement(value: string): ClientCertificateSeen | null {
  if (!oneElement.test(value)) return null;
  const pairs = [...value.matchAll(new RegExp(member, "g"))];
  const members = new Map(
    pairs.map(([, name = "", text = ""]) => [name.toLowerCase(), text.replaceAll('"', "")]),
  );
  const certificate = members.get("cert");
  const named = pairs.map(([, name = ""]) => name.toLowerCase());
  if (["hash", "cert"].some((name) => named.indexOf(name) !== named.lastIndexOf(name))) return null;
  if (certificate !== undefined) return /^[A-Za-z]+=/.test(certificate) ? null : readCertificate(certificate);
  const hash = members.get("hash")?.toLowerCase() ?? "";
  if (!/^[0-9a-f]{64}$/.test(hash)) return null;
  return { certificateSha256: hash, publicKeySha256: null, validSeconds: null };
}

function fromDer(der: Buffer): ClientCertificateSeen | null {
  try {
    const certificate = new X509Certificate(der);
    const key = certificate.publicKey.export({ type: "spki", format: "der" });
    const validSeconds = { from: seconds(certificate.validFrom), to: seconds(certificate.validTo) };
    return { certificateSha256: sha256(certificate.raw), publicKeySha256: sha256(key), validSeconds };
  } catch {
    return null;
  }
}

function seconds(time: string): number {
  return Math.floor(Date.parse(time) / 1_000);
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function decoded(value: string): string | null {
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}
