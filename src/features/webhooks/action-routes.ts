import { InvalidRequestError, PosthornError } from "../../domain/errors.ts";
import type { ApiOptions } from "../../http/context.ts";
import { inputOf } from "../../http/mapping.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import {
  circuitActionFields,
  pauseFields,
  receiverCheckFields,
  recoverFields,
  testFields,
  urlCheckFields,
} from "../../resources/actions.ts";
import { judgeField } from "../../resources/field.ts";
import { operationStartedSchema, recoverInputSchema } from "../../resources/operation.ts";
import { closed } from "../../resources/schema.ts";
import {
  backlogSchema,
  circuitActionSchema,
  circuitSchema,
  healthSchema,
  pauseInputSchema,
  receiverCheckInputSchema,
  receiverCheckSchema,
  testInputSchema,
  testResultSchema,
  urlCheckInputSchema,
  urlCheckSchema,
} from "../../resources/webhook-state.ts";
import { webhookSchema } from "../../resources/webhook.ts";
import { operationStartedJson } from "../operations/views.ts";
import type { Scope, WebhookView } from "../services.ts";
import { OutsideCalls } from "../verification/outside-calls.ts";
import { webhookBefore, webhookParams } from "./routes.ts";
import { backlogJson, circuitJson, healthJson, webhookJson } from "./views.ts";

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
    description: "Delivers a test event like any other event, but only to this webhook.",
    access: "manage",
    capability: "test:send",
    isTest: true,
    params: webhookParams,
    body: testInputSchema,
    bodyOptional: true,
    answers: {
      202: { description: "The ids of the test event and its delivery.", schema: testResultSchema },
    },
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

// Checks a webhook URL, and whether its receiver behaves correctly.

export function webhookCheckRoutes(options: ApiOptions): readonly Route[] {
  return [urlRoute(options), receiverRoute(options)];
}

function urlRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/webhooks/check-url",
    operationId: "checkWebhookUrl",
    tag: "Webhooks",
    summary: "Check whether a URL is allowed for a webhook",
    description:
      "Applies the rules for new webhooks. The addresses that the name resolves to are checked when something is sent.",
    access: "manage",
    capability: "endpoints:write",
    body: urlCheckInputSchema,
    answers: { 200: { description: "Problems of the URL.", schema: urlCheckSchema } },
    errors: [],
    audit: { none: "it changes nothing" },
    handle: async ({ scope, body }) => {
      const { url } = inputOf(urlCheckFields, body);
      const problems = judgeField(urlCheckFields.url, "url", url);
      if (problems.length > 0) throw new InvalidRequestError("the URL is not valid", problems);
      const { code, detail, duplicateOf } = services.urlChecks.check(scope, url);
      return { status: 200, body: { acceptable: code === null, code, detail, duplicate_of: duplicateOf } };
    },
  });
}

/** A check sends up to 21 MiB to a URL that its owner chose. */
const checkLimits = {
  all: { atOnce: 4, perMinute: 20 },
  tenant: { atOnce: 2, perMinute: 10 },
  host: { atOnce: 1, perMinute: 10 },
};

function receiverRoute({ services, clock, examineReceiver = null }: ApiOptions): Route {
  const running = new Set<string>();
  const calls = new OutsideCalls(clock, checkLimits);
  return defineRoute({
    method: "POST",
    path: "/v1/webhooks/{id}/check",
    operationId: "checkReceiver",
    tag: "Webhooks",
    summary: "Check the receiver of a webhook",
    description:
      "Applies the rules of `posthorn check`: sends messages that the receiver must refuse, and with `allow_valid` some that it must accept and " +
      "may process. This may take a minute. Concurrent checks are limited to one per webhook and host, two per tenant, and four in total; " +
      "beyond that, and beyond ten per minute, the response is 429 with Retry-After.",
    access: "manage",
    capability: "test:send",
    isTest: true,
    params: webhookParams,
    body: receiverCheckInputSchema,
    bodyOptional: true,
    answers: { 200: { description: "The result for each rule.", schema: receiverCheckSchema } },
    errors: ["not_found", "conflict", "rate_limited"],
    audit: { action: "webhook.check", target: "webhook", before: webhookBefore(services) },
    handle: async ({ scope, params: { id }, body }) => {
      const { webhook, policy } = await services.webhooks.get(scope, id);
      if (examineReceiver === null)
        throw new PosthornError(
          "conflict",
          "this server sends requests through a proxy; use posthorn check instead",
        );
      if (running.has(id)) throw new PosthornError("conflict", "this receiver is already being checked");
      running.add(id);
      try {
        const { secret } = await services.webhooks.secret({ tenantId: webhook.tenantId }, id);
        const { allowValid = false } = inputOf(receiverCheckFields, body);
        const target = { webhookId: id, url: webhook.url, profile: policy.profile, secret };
        const examine = () => examineReceiver(target, { allowValid });
        const findings = await calls.run(webhook.tenantId, webhook.url, examine);
        return { status: 200, body: { findings } };
      } finally {
        running.delete(id);
      }
    },
  });
}
