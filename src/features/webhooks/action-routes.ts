import { InvalidRequestError, PosthornError } from "../../domain/errors.ts";
import type { ApiOptions } from "../../http/context.ts";
import { inputOf } from "../../http/mapping.ts";
import { defineRoute, type Route } from "../../http/route.ts";
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
import { operationStartedJson } from "../operations/views.ts";
import { OutsideCalls } from "../verification/outside-calls.ts";
import { plainWebhookRoutes } from "./routes.ts";
import { backlogJson, circuitJson, healthJson, webhookJson } from "./views.ts";

export function webhookActionRoutes(options: ApiOptions): readonly Route[] {
  const { webhooks } = options.services;
  const routes = plainWebhookRoutes(options);
  const reading = { method: "GET", capability: "endpoints:read" } as const;
  const switching = {
    capability: "endpoints:write",
    answer: "The updated webhook.",
    errors: ["not_found", "conflict"],
  } as const;
  const switched = (verb: "enable" | "disable") => ({
    action: `webhook.${verb}`,
    target: "webhook",
    before: routes.shown,
    sets: () => ({ active: verb === "enable" }),
  });
  return [
    routes.action(
      "health",
      {
        ...reading,
        operationId: "getWebhookHealth",
        summary: "Get the health of a webhook",
        answer: "Circuit, pause, closed gates, recent attempts and errors.",
        schema: healthSchema,
      },
      async (scope, id) => healthJson(await webhooks.health(scope, id), scope),
    ),
    routes.action(
      "backlog",
      {
        ...reading,
        operationId: "getWebhookBacklog",
        summary: "Get the backlog of a webhook",
        answer: "Counts by priority, the oldest delivery, and an estimate of the time to drain.",
        schema: backlogSchema,
      },
      async (scope, id) => backlogJson(await webhooks.backlog(scope, id)),
    ),
    routes.action(
      "circuit",
      {
        method: "PATCH",
        place: "/circuit-breaker",
        operationId: "changeCircuit",
        summary: "Reset or force the circuit",
        takes: circuitActionFields,
        body: circuitActionSchema,
        answer: "The updated circuit.",
        schema: circuitSchema,
      },
      async (scope, id, input) => circuitJson(id, await webhooks.circuit(scope, { id, ...input })),
    ),
    routes.action(
      "test",
      {
        summary: "Send a test event",
        description: "Delivers a test event like any other event, but only to this webhook.",
        capability: "test:send",
        isTest: true,
        takes: testFields,
        body: testInputSchema,
        bodyOptional: true,
        status: 202,
        answer: "The ids of the test event and its delivery.",
        schema: testResultSchema,
      },
      async (scope, id, input) => {
        const { eventId, deliveryId } = await webhooks.test(scope, { id, ...input });
        return { event_id: eventId, delivery_id: deliveryId };
      },
    ),
    routes.action(
      "enable",
      { ...switching, summary: "Enable a webhook", audit: switched("enable") },
      async (scope, id) => webhookJson(await webhooks.enable(scope, id)),
    ),
    routes.action(
      "pause",
      {
        summary: "Pause a webhook",
        description:
          "Nothing is sent until `until`, or until `resume`. Events published during the pause are kept and sent afterwards; " +
          "`disable` skips them instead. Their age keeps counting: deliveries older than `max_age_ms` become dead letters.",
        capability: "endpoints:write",
        takes: pauseFields,
        body: pauseInputSchema,
        bodyOptional: true,
        answer: "The paused webhook.",
      },
      async (scope, id, input) => webhookJson(await webhooks.pause(scope, { id, ...input })),
    ),
    routes.action(
      "resume",
      {
        ...switching,
        summary: "Resume a webhook",
        description:
          "Ends a manual pause, and one requested by a response (`paused_until` in the health). `enable` on an " +
          "active webhook ends both; changing the URL ends the latter.",
      },
      async (scope, id) => webhookJson(await webhooks.resume(scope, id)),
    ),
    routes.action(
      "disable",
      { ...switching, summary: "Disable a webhook", audit: switched("disable") },
      async (scope, id) => webhookJson(await webhooks.disable(scope, id)),
    ),
    recoverRoute(options),
  ];
}

function recoverRoute(options: ApiOptions): Route {
  return plainWebhookRoutes(options).action(
    "recover",
    {
      summary: "Recover lost deliveries",
      description:
        "Retries deliveries that became dead letters or were skipped since a given time. Use `dry_run` to count them first.",
      capability: "endpoints:recover",
      takes: recoverFields,
      body: recoverInputSchema,
      status: 202,
      answer: "The operation, or the count for a dry run.",
      schema: operationStartedSchema,
      audit: {
        action: "webhook.recover",
        target: "operation",
        idFrom: "batch_operation_id",
        sets: ({ params }) => ({ webhook_id: (params as { readonly id: string }).id }),
      },
    },
    async (scope, id, input) =>
      operationStartedJson(await options.services.webhooks.recover(scope, { id, ...input })),
  );
}

// Checks a webhook URL, and whether its receiver behaves correctly.

export function webhookCheckRoutes(options: ApiOptions): readonly Route[] {
  return [
    defineRoute({
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
        const { code, detail, duplicateOf } = options.services.urlChecks.check(scope, url);
        return { status: 200, body: { acceptable: code === null, code, detail, duplicate_of: duplicateOf } };
      },
    }),
    receiverRoute(options),
  ];
}

/** Rate-limited, because a check sends up to 21 MiB to a URL that its owner chose. */
const checkLimits = {
  all: { atOnce: 4, perMinute: 20 },
  tenant: { atOnce: 2, perMinute: 10 },
  host: { atOnce: 1, perMinute: 10 },
};

function receiverRoute(options: ApiOptions): Route {
  const { services, clock, examineReceiver = null } = options;
  const running = new Set<string>();
  const calls = new OutsideCalls(clock, checkLimits);
  return plainWebhookRoutes(options).action(
    "check",
    {
      operationId: "checkReceiver",
      summary: "Check the receiver of a webhook",
      description:
        "Applies the rules of `posthorn check`: sends messages that the receiver must refuse, and with `allow_valid` some that it must accept and " +
        "may process. This may take a minute. Concurrent checks are limited to one per webhook and host, two per tenant, and four in total; " +
        "beyond that, and beyond ten per minute, the response is 429 with Retry-After.",
      capability: "test:send",
      isTest: true,
      takes: receiverCheckFields,
      body: receiverCheckInputSchema,
      bodyOptional: true,
      answer: "The result for each rule.",
      schema: receiverCheckSchema,
      errors: ["not_found", "conflict", "rate_limited"],
    },
    async (scope, id, { allowValid = false }) => {
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
        const target = { webhookId: id, url: webhook.url, profile: policy.profile, secret };
        const examine = () => examineReceiver(target, { allowValid });
        return { findings: await calls.run(webhook.tenantId, webhook.url, examine) };
      } finally {
        running.delete(id);
      }
    },
  );
}
