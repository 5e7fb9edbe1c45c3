/** The HTTP server: Fastify with the routes of route-table.ts, or only the probes. */
import { type IncomingMessage, maxHeaderSize, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { InvalidRequestError, NotFoundError, PosthornError } from "../domain/errors.ts";
import { OpenStreams } from "../features/live/event-streams.ts";
import { systemRoutes } from "../features/system/routes.ts";
import { Alarm, type Clock } from "../ports/clock.ts";
import { Auditing } from "./audit.ts";
import { CallLimits, createAuthenticationHook } from "./authentication.ts";
import type { ApiOptions, ApiTimeouts } from "./context.ts";
import { answerPreflight, permitOrigin } from "./cross-origin.ts";
import {
  type BodyBounds,
  BodyMemory,
  bodyBytesMaxDefault,
  createHandler,
  dropBody,
  isRaw,
  missingContentType,
  type RequestBody,
  readBody,
  renderError,
  send,
} from "./dispatch.ts";
import { isolation } from "./foreign-answer.ts";
import { IdempotencyClaims } from "./idempotency.ts";
import { serveDashboard, servePortal } from "./pages.ts";
import { MethodNotAllowedError, renderProblem } from "./problems.ts";
import type { RawForm, Route } from "./route.ts";
import { createRoutes } from "./route-table.ts";
import { RefusedInbound, routedInbound, serveInbound, takeEveryMethod } from "./serve-inbound.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    readonly rawForm?: RawForm;
    /** Bodies may be compressed; they are passed on without decompression. */
    readonly takesEncodings?: boolean;
  }
}

export type { ApiOptions, DashboardFile, Readiness } from "./context.ts";

export interface Api {
  /** Port 0 selects a free port. */
  listen(host: string, port: number): Promise<{ readonly url: string }>;
  /** After this call, each response closes its connection, so that clients reconnect elsewhere. */
  drain(): void;
  /** Stops accepting connections, lets running requests finish for `graceMs`, then aborts them. Idempotent. */
  close(graceMs: number): Promise<void>;
}

const timeoutsDefault: ApiTimeouts = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  idleTimeoutMs: 120_000,
  keepAliveTimeoutMs: 65_000,
  checkIntervalMs: 2_000,
  goodbyeMs: 2_000,
  answerTimeoutMs: 60_000,
};

/**
 * Memory shared by all request bodies in flight: enough for eight of the largest, each of which takes up to twice its
 * size while it is read.
 */
const bodyMemoryBytesMax = 256 * 1024 * 1024;

const pathParameterLengthMax = 512;

export function createApi(options: ApiOptions): Promise<Api> {
  const { dashboard = null } = options;
  const redirects = {
    ...pageRedirects,
    ...(dashboard !== null && { "/": "ui/", "/ui": "ui/" }),
    ...((options.portal ?? null) !== null && { "/portal": "portal/" }),
  };
  const streams = new OpenStreams(options);
  return createFrom(options, createRoutes(options, streams), redirects, streams);
}

/** Redirects for URLs that people type. They are relative, so that a proxy prefix is kept. */
const pageRedirects: Readonly<Record<string, string>> = { "/": "docs", "/docs/": "../docs", "/v1/": "../v1" };

/** Handles only inbound requests, so that the API can be on a different address. */
export function createInbound(options: ApiOptions): Promise<Api> {
  return createFrom({ ...options, takesInbound: true, dashboard: null, portal: null }, [], {}, null);
}

/** Serves health and metrics without a key, for a process that does not serve the API. */
export function createProbes(options: ApiOptions): Promise<Api> {
  return createFrom(options, systemRoutes(options), {}, null);
}

async function createFrom(
  options: ApiOptions,
  routes: readonly Route[],
  redirects: typeof pageRedirects,
  streams: OpenStreams | null,
): Promise<Api> {
  const bodies = new BodyMemory(bodyMemoryBytesMax);
  const app = createServer(options, routes, bodies);
  const claims = new IdempotencyClaims(options.store.idempotency, options.clock, options.random, options.log);
  const auditing = new Auditing(options);
  const parts: RouteParts = { ...options, claims, auditing, callLimits: new CallLimits(options) };
  for (const route of routes) {
    if (route.bodyIgnored === true) registerWithoutBody(app, route, parts);
    else register(app, route, parts);
  }
  serveDashboard(app, options);
  servePortal(app, options);
  if (options.takesInbound === true) serveInbound(app, options, bodies);
  for (const [path, target] of Object.entries(redirects)) {
    app.get(path, (request, reply) => {
      // A path relative to a prefix without its trailing slash would lose the prefix.
      const isBase = request.originalUrl.split("?", 1)[0] === options.basePath;
      const location = isBase ? `${options.basePath}/${target}` : target;
      send(reply, { status: 302, headers: { location }, text: "" });
    });
  }
  let isDraining = false;
  app.addHook("onRequest", (_request, reply, done) => {
    // Responses bypass Fastify's reply (dispatch.ts).
    if (isDraining) reply.raw.setHeader("connection", "close");
    done();
  });
  await app.ready();
  let closing: Promise<void> | undefined;
  return {
    listen: async (host, port) => ({ url: await app.listen({ host, port }) }),
    drain: () => {
      isDraining = true;
      streams?.endAll();
    },
    close: (graceMs) => {
      // Open streams would delay the shutdown until the end of the grace period.
      streams?.endAll();
      closing ??= closeWithin(app, graceMs, parts);
      return closing;
    },
  };
}

/** Routes validate and serialise without Fastify's compilers, which would take a tenth of each startup. */
const noCompilers = { buildValidator: refuseSchemas, buildSerializer: refuseSchemas };

function refuseSchemas(): never {
  throw new Error("routes must be registered without schemas: see dispatch.ts");
}

function createServer(options: ApiOptions, routes: readonly Route[], bodies: BodyMemory): FastifyInstance {
  const { log, timeouts = timeoutsDefault, basePath = "", takesInbound = false } = options;
  const refused = takesInbound ? new RefusedInbound(options) : null;
  const app = fastify({
    logger: false,
    bodyLimit: bodyBytesMaxDefault,
    requestTimeout: timeouts.requestTimeoutMs,
    connectionTimeout: timeouts.idleTimeoutMs,
    keepAliveTimeout: timeouts.keepAliveTimeoutMs,
    forceCloseConnections: "idle",
    // While draining, requests on open connections are still served, with `Connection: close`.
    return503OnClosing: false,
    routerOptions: { maxParamLength: pathParameterLengthMax },
    schemaController: { compilersFactory: noCompilers },
    ...((basePath !== "" || takesInbound) && {
      rewriteUrl: ({ url = "/" }: IncomingMessage) =>
        (takesInbound ? routedInbound(url, basePath) : null) ?? withoutBase(url, basePath),
    }),
    http: {
      headersTimeout: timeouts.headersTimeoutMs,
      connectionsCheckingInterval: timeouts.checkIntervalMs,
      maxHeaderSize,
      // Otherwise, Node would send its own error without a body.
      requireHostHeader: false,
    },
    frameworkErrors: (error, request, reply) => send(reply, renderError(error, log, request.id, basePath)),
    clientErrorHandler: (error, socket) => {
      const { remoteAddress } = socket;
      const status = answerBrokenRequest(error, socket, options);
      if (status !== null) refused?.unparsed(error, remoteAddress, status);
    },
  });
  if (takesInbound) takeEveryMethod(app);
  refuseBeyondLimit(app, options);
  endSlowReaders(app.server, { ...options, ...timeouts });
  app.decorateRequest("principal", null);
  app.decorateRequest("dashboardSession", null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", (request, payload, done) => {
    readBody(payload, { bytesMax: request.routeOptions.bodyLimit, ...boundsOf(request, bodies) }, done);
  });
  app.addContentTypeParser("*", (request, payload, done) => {
    readOtherBody(request, payload, bodies, done);
  });
  app.setErrorHandler((error, request, reply) => send(reply, renderError(error, log, request.id, basePath)));
  const origins = new Set(options.portal?.origins);
  app.setNotFoundHandler((request, reply) => {
    const preflight = answerPreflight(request, origins);
    send(reply, preflight ?? renderProblem(unknownPath(request, routes), basePath));
  });
  if (origins.size > 0) app.addHook("onRequest", permitOrigin(origins));
  app.addHook("onRequest", refuseHosts);
  app.addHook("onRequest", refuseEncodedBodies);
  const refuseOtherExpectation = refuseExpectation(basePath);
  app.server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    if (refused?.expectation(request, response) !== true) refuseOtherExpectation(request, response);
  });
  if (options.logRequests === true) logRequests(app, options);
  return app;
}

/** When all connections of a process are in use, only probes are answered. */
function refuseBeyondLimit(app: FastifyInstance, { limits, clock }: ApiOptions): void {
  const connections = new HeldConnections(app.server, limits.connectionsMax, clock);
  app.addHook("onRequest", (request, reply, done) => {
    if (!connections.refuses(request.raw.socket, request.url)) return done();
    reply.raw.setHeader("connection", "close");
    const detail = "all connections of this process are in use; nothing was changed, retry";
    return done(new PosthornError("unavailable", detail, { retryAfterSeconds: 1 }));
  });
}

/** Removes the prefix, which a proxy may forward. Requests without it, such as probes, are served too. */
function withoutBase(url: string, basePath: string): string {
  if (basePath === "" || !url.startsWith(basePath)) return url;
  const rest = url.slice(basePath.length);
  return rest === "" || /^[/?]/.test(rest) ? `/${rest.replace(/^\//, "")}` : url;
}

/** Dependencies for registering routes. */
interface RouteParts extends ApiOptions {
  readonly claims: IdempotencyClaims;
  readonly auditing: Auditing;
  readonly callLimits: CallLimits;
}

function register(app: FastifyInstance, route: Route, parts: RouteParts): void {
  const { access } = route;
  app.route({
    method: route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ":$1"),
    bodyLimit: route.bodyBytesMax ?? bodyBytesMaxDefault,
    exposeHeadRoute: hasHead(route),
    ...(route.raw !== undefined && { config: { rawForm: route.raw } }),
    ...(access !== "public" && { onRequest: createAuthenticationHook(route, parts) }),
    handler: createHandler(route, parts),
  });
}

function hasHead({ method, changesByGet, isStream }: Route): boolean {
  return method === "GET" && changesByGet !== true && isStream !== true;
}

/** Registers the route in a separate Fastify context, whose parser accepts every media type and discards the body. */
function registerWithoutBody(app: FastifyInstance, route: Route, parts: RouteParts): void {
  void app.register((child, _, done) => {
    child.removeAllContentTypeParsers();
    child.addContentTypeParser("*", (_request, payload, parsed) => {
      dropBody(payload);
      parsed(null, undefined);
    });
    register(child, route, parts);
    done();
  });
}

/**
 * Handles bodies other than JSON: passes the bytes on if the route accepts them, and responds with 415 if it does not.
 */
function readOtherBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  bodies: BodyMemory,
  done: (error: Error | null, body?: RequestBody) => void,
): void {
  const { rawForm } = request.routeOptions.config;
  if (request.is404) done(null);
  else if (rawForm === undefined) done(new PosthornError("unsupported_media_type", jsonWanted));
  else if (!isRaw(request, rawForm)) {
    const hint = `, or give ${rawForm.parameter} in the query to send a body of any media type.`;
    done(new PosthornError("unsupported_media_type", jsonWanted.replace(/\.$/, hint)));
  } else if (request.headers["content-type"] === undefined) {
    done(new PosthornError("unsupported_media_type", missingContentType));
  } else readBody(payload, { bytesMax: rawForm.bodyBytesMax, ...boundsOf(request, bodies) }, done);
}

function boundsOf({ principal }: FastifyRequest, memory: BodyMemory): Omit<BodyBounds, "bytesMax"> {
  return { memory, caller: principal?.tenantId ?? principal?.keyId ?? "" };
}

const jsonWanted = 'Send the body as "Content-Type: application/json".';

function refuseEncodedBodies(request: FastifyRequest, _: FastifyReply, done: (error?: Error) => void): void {
  const encoding = request.headers["content-encoding"];
  const takesAll = request.routeOptions.config.takesEncodings === true;
  if (encoding === undefined || encoding === "identity" || takesAll) done();
  else done(new PosthornError("unsupported_media_type", "Send the body without Content-Encoding."));
}

function unknownPath(request: FastifyRequest, routes: readonly Route[]): PosthornError {
  const path = (request.raw.url ?? "").split("?", 1)[0] ?? "";
  const found = routes.filter((route) => pathPattern(route.path).test(path));
  if (found.length === 0) return new NotFoundError("this path");
  const methods = found.map((route) => route.method);
  return new MethodNotAllowedError(found.some(hasHead) ? ["HEAD", ...methods] : methods);
}

function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}

/**
 * Malformed or timed-out requests never reach Fastify, so respond on the raw socket. Returns the status, or null if the
 * connection has been closed.
 */
function answerBrokenRequest(
  error: Error & { readonly code?: string },
  socket: Socket,
  { clock, timeouts = timeoutsDefault, basePath = "" }: ApiOptions,
): number | null {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return null;
  }
  const [status, title] = brokenRequests[error.code ?? ""] ?? [400, "Bad Request"];
  const body = JSON.stringify({
    type: `${basePath}/docs/errors#invalid_request`,
    title,
    status,
    detail: brokenDetails[status] ?? "This is not a well-formed HTTP request.",
    code: "invalid_request",
  });
  // Without this timer, a client that neither reads nor closes could keep the connection open indefinitely.
  const timer = clock.schedule(timeouts.goodbyeMs, () => socket.destroy());
  socket.once("close", () => timer.cancel());
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\n${isolationLines}` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  return status;
}

const isolationLines = Object.entries(isolation)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join("");

const brokenDetails: Readonly<Record<number, string>> = {
  408: "The request did not arrive in time.",
  431: `The headers have more than ${maxHeaderSize} bytes.`,
};

const brokenRequests: Readonly<Record<string, readonly [number, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout"],
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large"],
};

function logRequests(app: FastifyInstance, { log }: ApiOptions): void {
  app.addHook("onResponse", (request, reply, done) => {
    const { method } = request;
    // Log the route rather than the path, because the path may contain ids of customers.
    log.debug(
      {
        requestId: request.id,
        method,
        route: request.routeOptions.url,
        status: reply.statusCode,
        durationMs: reply.elapsedTime,
      },
      "request",
    );
    done();
  });
}

async function closeWithin(app: FastifyInstance, graceMs: number, parts: RouteParts): Promise<void> {
  const timer = parts.clock.schedule(graceMs, () => app.server.closeAllConnections());
  try {
    await app.close();
  } finally {
    timer.cancel();
    await parts.claims.close();
  }
}

/** Extra connections reserved for probes, so that a process at its limit does not appear to be dead. */
const probeConnections = 16;
/**
 * Allowance for a burst of connections, which arrives within one turn of the event loop. Until the next turn, Node also
 * counts connections that are closing.
 */
const burstMax = 512;
/** When all connections are in use, a request whose body takes longer than this may lose its connection. */
const slowBodyMs = 5_000;

const probePaths: ReadonlySet<string> = new Set(["/livez", "/readyz", "/metrics"]);

interface Busy {
  readonly request: IncomingMessage;
  readonly sinceMs: number;
}

/**
 * Limits the connections of a server. At the limit, a new connection replaces the one with the lowest priority: first
 * the oldest that never completed a request head, then the one that has been idle longest, then the oldest with an
 * incomplete body or an unread response. Without this, a client that opens connections and sends nothing would lock out
 * all other clients. A new connection is rejected only if all are busy; probes are still accepted.
 */
export class HeldConnections {
  readonly #connectionsMax: number;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** Each set is ordered by the time at which its connections entered this state. */
  readonly #headless = new Set<Socket>();
  readonly #idle = new Set<Socket>();
  readonly #busy = new Map<Socket, Busy>();
  readonly #forProbes = new WeakSet<Socket>();

  constructor(server: Server, connectionsMax: number, clock: Pick<Clock, "monotonicMs">) {
    this.#connectionsMax = connectionsMax;
    this.#clock = clock;
    server.maxConnections = connectionsMax + probeConnections + burstMax;
    server.on("connection", (socket) => this.#opened(socket));
    server.prependListener("request", (request, response) => this.#requested(request, response));
  }

  /** Whether a request other than a probe arrived on a connection reserved for probes. */
  refuses(socket: Socket, path: string): boolean {
    return this.#forProbes.has(socket) && !probePaths.has(path.split("?", 1)[0] ?? "");
  }

  get #count(): number {
    return this.#headless.size + this.#idle.size + this.#busy.size;
  }

  #opened(socket: Socket): void {
    if (this.#count >= this.#connectionsMax) this.#makeRoom();
    if (this.#count >= this.#connectionsMax + probeConnections) return void socket.destroy();
    if (this.#count >= this.#connectionsMax) this.#forProbes.add(socket);
    this.#headless.add(socket);
    socket.once("close", () => this.#forget(socket));
  }

  #requested(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    // The connection was evicted in the same turn of the event loop.
    if (!this.#headless.delete(socket) && !this.#idle.delete(socket) && !this.#busy.has(socket)) return;
    this.#busy.set(socket, { request, sinceMs: this.#clock.monotonicMs() });
    response.once("close", () => {
      // With pipelining, the next request may already have started.
      if (this.#busy.get(socket)?.request !== request) return;
      this.#busy.delete(socket);
      this.#idle.add(socket);
    });
  }

  #makeRoom(): void {
    const victim = first(this.#headless) ?? first(this.#idle) ?? this.#oldestSlow();
    if (victim === null) return;
    this.#forget(victim);
    victim.destroy();
  }

  #oldestSlow(): Socket | null {
    const now = this.#clock.monotonicMs();
    for (const [socket, { request, sinceMs }] of this.#busy) {
      if (now - sinceMs < slowBodyMs) return null;
      if (!request.complete || socket.writableLength > 0) return socket;
    }
    return null;
  }

  #forget(socket: Socket): void {
    this.#headless.delete(socket);
    this.#idle.delete(socket);
    this.#busy.delete(socket);
  }
}

function first(sockets: ReadonlySet<Socket>): Socket | null {
  return sockets.values().next().value ?? null;
}

// Rejects invalid request heads before routing. The response is a problem document; Node would send no body.

/** Requires exactly one Host header (RFC 9112, section 3.2), because a proxy might have used a different one. */
function refuseHosts(request: FastifyRequest, _: FastifyReply, done: (error?: Error) => void): void {
  const { rawHeaders, httpVersion } = request.raw;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === hostLength && name.toLowerCase() === "host") hosts += 1;
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === "1.0")) done();
  else
    done(
      new InvalidRequestError("A request must have exactly one Host header.", [
        { field: "Host", message: "must be present exactly once" },
      ]),
    );
}

const hostLength = "host".length;

/** Rejects `Expect` values other than `100-continue`. */
function refuseExpectation(basePath: string) {
  const body = JSON.stringify({
    type: `${basePath}/docs/errors#invalid_request`,
    title: "Expectation Failed",
    status: 417,
    detail: "Only the expectation 100-continue is supported.",
    code: "invalid_request",
  });
  return (request: IncomingMessage, response: ServerResponse): void => {
    request.resume();
    response.writeHead(417, {
      "content-type": "application/problem+json",
      "x-content-type-options": "nosniff",
      "content-length": Buffer.byteLength(body),
      connection: "close",
    });
    response.end(body);
  };
}

interface SlowReadersOptions {
  readonly clock: Clock;
  /** How long a response may wait for the client to read it. */
  readonly answerTimeoutMs: number;
  readonly checkIntervalMs: number;
}

/** Watches the connections of a server until it closes. */
function endSlowReaders(server: Server, options: SlowReadersOptions): void {
  const slowReaders = new SlowReaders(options);
  server.on("connection", (socket) => slowReaders.opened(socket));
}

/**
 * Closes connections whose clients do not read their response. Node's own timeouts end with the request, and its idle
 * timeout restarts with every byte, so a client that occasionally reads a byte could keep a response open indefinitely.
 */
class SlowReaders {
  readonly #options: SlowReadersOptions;
  readonly #sockets = new Set<Socket>();
  /** When the pending part of a response was written (monotonic ms). */
  readonly #waitingSince = new Map<Socket, number>();
  readonly #alarm: Alarm;

  constructor(options: SlowReadersOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock);
  }

  opened(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#closed(socket));
    if (!this.#alarm.isSet) this.#checkLater();
  }

  #closed(socket: Socket): void {
    this.#sockets.delete(socket);
    this.#waitingSince.delete(socket);
    if (this.#sockets.size === 0) this.#alarm.cancel();
  }

  #checkLater(): void {
    this.#alarm.set(this.#options.checkIntervalMs, () => {
      for (const socket of this.#sockets) this.#check(socket);
      if (this.#sockets.size > 0) this.#checkLater();
    });
  }

  #check(socket: Socket): void {
    const now = this.#options.clock.monotonicMs();
    const since = this.#waitingSince.get(socket);
    if (socket.writableLength === 0) this.#waitingSince.delete(socket);
    else if (since === undefined) this.#waitingSince.set(socket, now);
    else if (now - since >= this.#options.answerTimeoutMs) socket.destroy();
  }
}
