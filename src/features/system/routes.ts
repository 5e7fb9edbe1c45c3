import type { ApiOptions, SystemReport } from "../../http/context.ts";
import { jsonOf } from "../../http/mapping.ts";
import { type Answer, defineRoute, type Route } from "../../http/route.ts";
import { freeObject, Type } from "../../resources/schema.ts";
import { indexSchema, readinessSchema, systemSchema } from "../../resources/system.ts";

export function systemRoutes({ readiness, metricsText }: ApiOptions): readonly Route[] {
  return [
    liveRoute("/livez", { operationId: "isAlive", summary: "Check whether the process is alive" }),
    liveRoute("/healthz", {
      operationId: "isHealthy",
      summary: "Alias of `/livez`, which many tools probe by default",
    }),
    defineRoute({
      method: "GET",
      path: "/readyz",
      operationId: "isReady",
      tag: "System",
      summary: "Check whether the process can accept events, deliver or clean up",
      access: "public",
      answers: {
        200: { description: "The process is ready.", schema: readinessSchema },
        503: {
          description:
            "Not ready, with reasons: `starting`, `draining`, `store_unavailable` (with `store_is_standby`, `store_is_read_only`, " +
            "`store_waits_for_standby`, `disk_full` or `store_damaged` as the cause if known), or `worker_suspended` if it may not deliver.",
          schema: readinessSchema,
        },
      },
      errors: [],
      handle: async () => {
        const { ready, reasons, details } = readiness();
        const body = {
          status: ready ? "ok" : "unavailable",
          reasons,
          ...(details.length > 0 && { details }),
        };
        return ready ? { status: 200, body } : { status: 503, headers: { "retry-after": "1" }, body };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/metrics",
      operationId: "getMetrics",
      tag: "System",
      summary: "Metrics in the Prometheus format",
      access: "public",
      answers: { 200: { description: "The metrics.", schema: Type.String(), contentType: "text/plain" } },
      errors: [],
      handle: async () => ({
        status: 200,
        headers: {
          "content-type": "text/plain; version=0.0.4; charset=utf-8",
          "x-content-type-options": "nosniff",
        },
        text: await metricsText(),
      }),
    }),
  ];
}

/** For operators; only processes that serve the API have this route. */
export function systemReportRoute({ system, readiness, version, clock }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/system",
    operationId: "getSystem",
    tag: "System",
    summary: "Get the configuration and state of this process, and the live workers",
    access: "admin",
    answers: { 200: { description: "The report of the responding process.", schema: systemSchema } },
    errors: [],
    handle: async () => {
      const report = await system();
      const { ready, reasons } = readiness();
      const uptimeSeconds = Math.max(0, Math.floor((clock.now() - report.startedAt) / 1_000));
      const own = { version, uptimeSeconds, ready, reasons };
      return { status: 200, body: jsonOf(systemSchema, { ...report, ...own, ...shownOf(report) }) };
    },
  });
}

/** Converts the parts of the report that the API shows in a different form. */
function shownOf({ pools, store, queue, sharedState, settings }: SystemReport) {
  return {
    workerPools: pools && [...pools].map(([name, workers]) => ({ name, workers })),
    store: { ...store.facts, kind: store.kind },
    queue: { kind: queue.kind, available: queue.isAvailable },
    sharedState: { kind: sharedState.kind, available: sharedState.isAvailable },
    settings: settings.map(({ name, value, source }) => ({
      name,
      value,
      source: source?.kind,
      from: source?.name,
    })),
  };
}

function liveRoute(path: string, named: Pick<Route, "operationId" | "summary">): Route {
  return defineRoute({
    method: "GET",
    path,
    operationId: named.operationId,
    tag: "System",
    summary: named.summary,
    access: "public",
    answers: { 200: { description: "The process is alive.", schema: readinessSchema } },
    errors: [],
    handle: async () => ({ status: 200, body: { status: "ok", reasons: [] } }),
  });
}

/** Pages that do not change while the process runs. */
export interface StaticPages {
  readonly openApi: () => Answer;
  readonly docs: () => Answer;
  readonly errors: () => Answer;
  readonly idempotency: () => Answer;
}

export function documentationRoutes(pages: StaticPages, basePath: string): readonly Route[] {
  // Clients use this to recognise a Posthorn server before they send an API key.
  const index = {
    service: "posthorn",
    documentation: `${basePath}/docs`,
    openapi: `${basePath}/openapi.json`,
  };
  const page = (path: string, operationId: string, summary: string, answer: () => Answer) =>
    defineRoute({
      method: "GET",
      path,
      operationId,
      tag: "System",
      summary,
      access: "public",
      answers: { 200: { description: "The page.", schema: Type.String(), contentType: "text/html" } },
      errors: [],
      handle: async () => answer(),
    });
  return [
    defineRoute({
      method: "GET",
      path: "/v1",
      operationId: "getIndex",
      tag: "System",
      summary: "Get the service name and links to its documentation",
      access: "public",
      answers: { 200: { description: "A Posthorn.", schema: indexSchema } },
      errors: [],
      handle: async () => ({ status: 200, body: index }),
    }),
    defineRoute({
      method: "GET",
      path: "/openapi.json",
      operationId: "getOpenApi",
      tag: "System",
      summary: "Get the OpenAPI 3.1 document of this API",
      access: "public",
      answers: { 200: { description: "The document.", schema: freeObject() } },
      errors: [],
      handle: async () => pages.openApi(),
    }),
    page("/docs", "getDocs", "Show the API reference", pages.docs),
    page("/docs/errors", "getErrorDocs", "Show all error codes", pages.errors),
    page(
      "/docs/idempotency",
      "getIdempotencyDocs",
      "Show the documentation of Idempotency-Key",
      pages.idempotency,
    ),
  ];
}
