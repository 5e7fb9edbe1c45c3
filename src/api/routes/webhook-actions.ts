import type { Scope, WebhookView } from "../../services/services.ts";
import { circuitActionFields, pauseFields, recoverFields, testFields } from "../../core/fields/actions.ts";
import type { ApiOptions } from "../context.ts";
import { inputOf } from "../mapping/fields.ts";
import { operationStartedJson } from "../mapping/operation.ts";
import { backlogJson, circuitJson, healthJson } from "../mapping/webhook-state.ts";
import { webhookJson } from "../mapping/webhook.ts";
import { defineRoute } from "../route.ts";
import type { Call, Route } from "../route.ts";
import { closed } from "../schemas/building-blocks.ts";
import { recoverInputSchema } from "../schemas/dead-letter.ts";
import { operationStartedSchema } from "../schemas/operation.ts";
import {
  backlogSchema,
  circuitActionSchema,
  circuitSchema,
  healthSchema,
  pauseInputSchema,
  testInputSchema,
  testResultSchema,
} from "../schemas/webhook-state.ts";
import { webhookSchema } from "../schemas/webhook.ts";
import { webhookBefore, webhookParams } from "./webhooks.ts";

export function webhookActionRoutes(options: ApiOptions): readonly Route[] {
  const { webhooks } = options.services;
  return [
    healthRoute(options),
    backlogRoute(options),
    circuitRoute(options),
    testRoute(options),
    switchRoute(options, "enable", (scope, id) => webhooks.enable(scope, id)),
    pauseRoute(options),
    switchRoute(options, "resume", (scope, id) => webhooks.resume(scope, id)),
    switchRoute(options, "disable", (scope, id) => webhooks.disable(scope, id)),
    recoverRoute(options),
  ];
}

function healthRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/webhooks/{id}/health",
    operationId: "getWebhookHealth",
    tag: "Webhooks",
    summary: "Get the health of a webhook",
    access: "read",
    capability: "endpoints:read",
    params: webhookParams,
    answers: { 200: { description: "Circuit, pause, recent attempts and errors.", schema: healthSchema } },
    errors: ["not_found"],
    handle: async ({ scope, params }) => ({
      status: 200,
      body: healthJson(await services.webhooks.health(scope, params.id)),
    }),
  });
}

function backlogRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/webhooks/{id}/backlog",
    operationId: "getWebhookBacklog",
    tag: "Webhooks",
    summary: "Get the backlog of a webhook",
    access: "read",
    capability: "endpoints:read",
    params: webhookParams,
    answers: {
      200: {
        description: "Counts by priority, the oldest delivery, and an estimate of the time to drain.",
        schema: backlogSchema,
      },
    },
    errors: ["not_found"],
    handle: async ({ scope, params }) => ({
      status: 200,
      body: backlogJson(await services.webhooks.backlog(scope, params.id)),
    }),
  });
}

function circuitRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "PATCH",
    path: "/v1/webhooks/{id}/circuit-breaker",
    operationId: "changeCircuit",
    tag: "Webhooks",
    summary: "Reset or force the circuit",
    access: "manage",
    params: webhookParams,
    body: circuitActionSchema,
    answers: { 200: { description: "The updated circuit.", schema: circuitSchema } },
    errors: ["not_found"],
    audit: { action: "webhook.circuit", target: "webhook", before: webhookBefore(services) },
    handle: async ({ scope, params, body }) => {
      const command = { id: params.id, ...inputOf(circuitActionFields, body) };
      const circuit = await services.webhooks.circuit(scope, command);
      return { status: 200, body: circuitJson(params.id, circuit) };
    },
  });
}

function testRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/webhooks/{id}/test",
    operationId: "testWebhook",
    tag: "Webhooks",
    summary: "Send a test event",
    description: "The event takes the same path as any other, but only to this webhook.",
    access: "manage",
    capability: "test:send",
    isTest: true,
    params: webhookParams,
    body: testInputSchema,
    bodyOptional: true,
    answers: { 202: { description: "Links to the outcome.", schema: testResultSchema } },
    errors: ["not_found"],
    audit: { action: "webhook.test", target: "webhook", before: webhookBefore(services) },
    handle: async ({ scope, params, body }) => {
      const command = { id: params.id, ...inputOf(testFields, body) };
      const { eventId, deliveryId } = await services.webhooks.test(scope, command);
      return { status: 202, body: { event_id: eventId, delivery_id: deliveryId } };
    },
  });
}

const switchSummaries = {
  enable: "Enable a webhook",
  resume: "Resume a webhook",
  disable: "Disable a webhook",
} as const;

function switchRoute(
  { services }: ApiOptions,
  action: keyof typeof switchSummaries,
  change: (scope: Scope, id: string) => Promise<WebhookView>,
): Route {
  return defineRoute({
    method: "POST",
    path: `/v1/webhooks/{id}/${action}`,
    operationId: `${action}Webhook`,
    tag: "Webhooks",
    summary: switchSummaries[action],
    ...(action === "resume" && {
      description:
        "Ends a manual pause, and one requested by a response (`paused_until` in the health). `enable` on an " +
        "active webhook ends both; changing the URL ends the latter.",
    }),
    access: "manage",
    capability: "endpoints:write",
    params: webhookParams,
    body: closed({}),
    bodyOptional: true,
    answers: { 200: { description: "The updated webhook.", schema: webhookSchema } },
    errors: ["not_found", "conflict"],
    audit: {
      action: `webhook.${action}`,
      target: "webhook",
      before: webhookBefore(services),
      ...(action !== "resume" && { sets: () => ({ active: action === "enable" }) }),
    },
    handle: async ({ scope, params }) => ({ status: 200, body: webhookJson(await change(scope, params.id)) }),
  });
}

function pauseRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/webhooks/{id}/pause",
    operationId: "pauseWebhook",
    tag: "Webhooks",
    summary: "Pause a webhook",
    description:
      "Nothing is sent until `until`, or until `resume`. Events published during the pause are kept and sent afterwards; " +
      "`disable` skips them instead. Their age keeps counting: deliveries older than `max_age_ms` become dead letters.",
    access: "manage",
    capability: "endpoints:write",
    params: webhookParams,
    body: pauseInputSchema,
    bodyOptional: true,
    answers: { 200: { description: "The paused webhook.", schema: webhookSchema } },
    errors: ["not_found"],
    audit: { action: "webhook.pause", target: "webhook", before: webhookBefore(services) },
    handle: async ({ scope, params, body }) => {
      const command = { id: params.id, ...inputOf(pauseFields, body) };
      return { status: 200, body: webhookJson(await services.webhooks.pause(scope, command)) };
    },
  });
}

function recoverRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/webhooks/{id}/recover",
    operationId: "recoverWebhook",
    tag: "Webhooks",
    summary: "Recover lost deliveries",
    description:
      "Retries deliveries that became dead letters or were skipped since a given time. Use `dry_run` to count them first.",
    access: "manage",
    capability: "endpoints:recover",
    params: webhookParams,
    body: recoverInputSchema,
    answers: {
      202: { description: "The operation, or the count for a dry run.", schema: operationStartedSchema },
    },
    errors: ["not_found"],
    audit: {
      action: "webhook.recover",
      target: "operation",
      idFrom: "batch_operation_id",
      sets: ({ params }: Call<{ readonly id: string }>) => ({ webhook_id: params.id }),
    },
    handle: async ({ scope, params, body }) => {
      const command = { id: params.id, ...inputOf(recoverFields, body) };
      const started = await services.webhooks.recover(scope, command);
      return { status: 202, body: operationStartedJson(started) };
    },
  });
}
