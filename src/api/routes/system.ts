import { Type } from "typebox";
import type { ApiOptions } from "../context.ts";
import { defineRoute } from "../route.ts";
import type { Answer, Route } from "../route.ts";
import { freeObject } from "../schemas/building-blocks.ts";
import { readinessSchema } from "../schemas/registry.ts";

export function systemRoutes(options: ApiOptions): readonly Route[] {
  return [liveRoute(), readyRoute(options), metricsRoute(options)];
}

function liveRoute(): Route {
  return defineRoute({
    method: "GET",
    path: "/livez",
    operationId: "isAlive",
    tag: "System",
    summary: "Is the process alive?",
    access: "public",
    answers: { 200: { description: "It answers.", schema: readinessSchema } },
    errors: [],
    handle: async () => ({ status: 200, body: { status: "ok", reasons: [] } }),
  });
}

function readyRoute({ readiness }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/readyz",
    operationId: "isReady",
    tag: "System",
    summary: "Can it do its work: accept events, deliver, or clean up?",
    access: "public",
    answers: {
      200: { description: "It does.", schema: readinessSchema },
      503: {
        description:
          "Not now, and why: `starting`, `draining`, `store_unavailable`, or `worker_suspended` when it may not deliver.",
        schema: readinessSchema,
      },
    },
    errors: [],
    handle: async () => {
      const { ready, reasons } = readiness();
      const body = { status: ready ? "ok" : "unavailable", reasons };
      return ready ? { status: 200, body } : { status: 503, headers: { "retry-after": "1" }, body };
    },
  });
}

function metricsRoute({ metricsText }: ApiOptions): Route {
  return defineRoute({
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
      headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
      text: await metricsText(),
    }),
  });
}

/** Pages that never change while the process runs. */
export interface StaticPages {
  readonly openApi: () => Answer;
  readonly docs: () => Answer;
  readonly errors: () => Answer;
  readonly idempotency: () => Answer;
}

export function documentationRoutes(pages: StaticPages): readonly Route[] {
  const page = (
    path: string,
    more: { readonly operationId: string; readonly summary: string; readonly answer: () => Answer },
  ) =>
    defineRoute({
      method: "GET",
      path,
      operationId: more.operationId,
      tag: "System",
      summary: more.summary,
      access: "public",
      answers: { 200: { description: "The page.", schema: Type.String(), contentType: "text/html" } },
      errors: [],
      handle: async () => more.answer(),
    });
  return [
    defineRoute({
      method: "GET",
      path: "/openapi.json",
      operationId: "getOpenApi",
      tag: "System",
      summary: "This API as an OpenAPI 3.1 document",
      access: "public",
      answers: { 200: { description: "The document.", schema: freeObject() } },
      errors: [],
      handle: async () => pages.openApi(),
    }),
    page("/docs", { operationId: "getDocs", summary: "This API for people", answer: pages.docs }),
    page("/docs/errors", { operationId: "getErrorDocs", summary: "Every error code", answer: pages.errors }),
    page("/docs/idempotency", {
      operationId: "getIdempotencyDocs",
      summary: "How Idempotency-Key works here",
      answer: pages.idempotency,
    }),
  ];
}
