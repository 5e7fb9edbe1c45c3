/** The HTTP server: Fastify with the routes of route-table.ts, or with the probes alone. */
import { maxHeaderSize } from "node:http";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { fastify } from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { NotFoundError, PosthornError } from "../core/errors.ts";
import { authenticate } from "./authentication.ts";
import type { ApiOptions } from "./context.ts";
import {
  bodyBytesMaxDefault,
  createHandler,
  isRaw,
  missingContentType,
  renderError,
  send,
} from "./dispatch.ts";
import { MethodNotAllowedError, renderProblem } from "./problems.ts";
import { dropBody, readBody } from "./request-body.ts";
import type { RequestBody } from "./request-body.ts";
import type { Access, RawForm, Route } from "./route.ts";
import { createRoutes } from "./route-table.ts";
import { systemRoutes } from "./routes/system.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    readonly rawForm?: RawForm;
  }
}

export type { ApiOptions, Readiness } from "./context.ts";

export interface Api {
  /** Port 0 takes a free one. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ readonly url: string }>;
  /** From now on each answer ends its connection, so that callers come back over another one. */
  drain(): void;
  /** Takes no new connections, lets running requests finish for `graceMs`, then cuts them. Safe to call twice. */
  close(graceMs: number): Promise<void>;
}

/** Slow clients: what a request may take until it is complete, and how long a connection may be idle. */
const timeouts = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  idleTimeoutMs: 120_000,
  keepAliveTimeoutMs: 65_000,
  /** How often Node looks for connections beyond the first two. */
  checkIntervalMs: 2_000,
} as const;

const pathParameterLengthMax = 512;

export function createApi(options: ApiOptions): Promise<Api> {
  return createFrom(options, createRoutes(options));
}

/** Health and metrics, for a process that does not serve the API. Nobody needs a key, and nothing else is there. */
export function createProbes(options: ApiOptions): Promise<Api> {
  return createFrom(options, systemRoutes(options));
}

async function createFrom(options: ApiOptions, routes: readonly Route[]): Promise<Api> {
  const app = createServer(options, routes);
  for (const route of routes) {
    if (route.bodyIgnored === true) registerWithoutBody(app, route, options);
    else register(app, route, options);
  }
  let isDraining = false;
  app.addHook("onRequest", (_request, reply, done) => {
    // Answers are written past Fastify (dispatch.ts).
    if (isDraining) reply.raw.setHeader("connection", "close");
    done();
  });
  await app.ready();
  let closing: Promise<void> | undefined;
  return {
    listen: async ({ host, port }) => ({ url: await app.listen({ host, port }) }),
    drain: () => {
      isDraining = true;
    },
    close: (graceMs) => {
      closing ??= closeWithin(app, graceMs, options);
      return closing;
    },
  };
}

function createServer(options: ApiOptions, routes: readonly Route[]): FastifyInstance {
  const { log } = options;
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
    http: {
      headersTimeout: timeouts.headersTimeoutMs,
      connectionsCheckingInterval: timeouts.checkIntervalMs,
      maxHeaderSize,
    },
    frameworkErrors: (error, request, reply) =>
      send(reply, renderError(error, { log, requestId: request.id })),
    clientErrorHandler: answerBrokenRequest,
  });
  app.decorateRequest("principal", null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", (request, payload, done) => {
    readBody(payload, request.routeOptions.bodyLimit, done);
  });
  app.addContentTypeParser("*", readOtherBody);
  app.setErrorHandler((error, request, reply) =>
    send(reply, renderError(error, { log, requestId: request.id })),
  );
  app.setNotFoundHandler((request, reply) => send(reply, renderProblem(unknownPath(request, routes))));
  app.addHook("onRequest", refuseEncodedBodies);
  if (options.logRequests === true) logRequests(app, options);
  return app;
}

function register(app: FastifyInstance, route: Route, options: ApiOptions): void {
  const { access } = route;
  app.route({
    method: route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ":$1"),
    bodyLimit: route.bodyBytesMax ?? bodyBytesMaxDefault,
    exposeHeadRoute: hasHead(route),
    ...(route.raw !== undefined && { config: { rawForm: route.raw } }),
    ...(access !== "public" && { onRequest: createAuthenticationHook(access, options) }),
    handler: createHandler(route, {
      store: options.idempotency,
      secretBox: options.secretBox,
      clock: options.clock,
      log: options.log,
    }),
  });
}

function hasHead({ method, changesByGet }: Route): boolean {
  return method === "GET" && changesByGet !== true;
}

/** In a context of its own, where every media type has a parser: one that lets the body pass by. */
function registerWithoutBody(app: FastifyInstance, route: Route, options: ApiOptions): void {
  void app.register((child, _, done) => {
    child.removeAllContentTypeParsers();
    child.addContentTypeParser("*", (_request, payload, parsed) => {
      dropBody(payload);
      parsed(null, undefined);
    });
    register(child, route, options);
    done();
  });
}

/** Before the body is read, so that a caller without a key cannot make the server hold any. */
function createAuthenticationHook(access: Exclude<Access, "public">, { services }: ApiOptions) {
  const needs = { apiKeys: services.apiKeys, access };
  return (request: FastifyRequest, _: FastifyReply, done: (error?: Error) => void): void => {
    request.principal = authenticate(request.headers.authorization, needs);
    done();
  };
}

/** Everything that is not JSON: bytes where a route takes them, 415 elsewhere. */
function readOtherBody(
  request: FastifyRequest,
  payload: IncomingMessage,
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
  } else readBody(payload, rawForm.bodyBytesMax, done);
}

const jsonWanted = 'Send the body as "Content-Type: application/json".';

function refuseEncodedBodies(request: FastifyRequest, _: FastifyReply, done: (error?: Error) => void): void {
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || encoding === "identity") done();
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

/** What is not even HTTP, or came too slowly. There is no request to answer, only a socket. */
function answerBrokenRequest(error: Error & { readonly code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const [status, title] = brokenRequests[error.code ?? ""] ?? [400, "Bad Request"];
  const body = JSON.stringify({
    type: "/docs/errors#invalid_request",
    title,
    status,
    code: "invalid_request",
  });
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

const brokenRequests: Readonly<Record<string, readonly [number, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout"],
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large"],
};

function logRequests(app: FastifyInstance, { log }: ApiOptions): void {
  app.addHook("onResponse", (request, reply, done) => {
    const { method } = request;
    // The route, not the path: paths may hold ids of customers.
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

async function closeWithin(app: FastifyInstance, graceMs: number, { clock }: ApiOptions): Promise<void> {
  const timer = clock.schedule(graceMs, () => app.server.closeAllConnections());
  try {
    await app.close();
  } finally {
    timer.cancel();
  }
}
