import type { ApiOptions } from "../../http/context.ts";
import { inputOf } from "../../http/mapping.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import { incidentFields } from "../../resources/actions.ts";
import { closed } from "../../resources/schema.ts";
import {
  callbackQuerySchema,
  callbackResultSchema,
  incidentInputSchema,
  incidentResultSchema,
} from "../../resources/webhook-state.ts";
import { webhookSchema } from "../../resources/webhook.ts";
import { webhookBefore, webhookParams, webhookTenant } from "../webhooks/routes.ts";
import { webhookJson } from "../webhooks/views.ts";

/** Calls between receivers and Posthorn other than deliveries. */
export function webhookVerificationRoutes(options: ApiOptions): readonly Route[] {
  return [
    verifyRoute(options),
    callbackRoute(options, "GET", "confirmVerification"),
    callbackRoute(options, "POST", "postVerificationConfirmation"),
    incidentRoute(options),
  ];
}

function verifyRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/webhooks/{id}/verify",
    operationId: "verifyWebhook",
    tag: "Webhooks",
    summary: "Verify a webhook again",
    description:
      "Runs the method of `verification` once more and returns the result. An explicit refusal revokes an earlier permission.",
    access: "manage",
    capability: "endpoints:write",
    params: webhookParams,
    body: closed({}),
    bodyOptional: true,
    answers: {
      200: { description: "The webhook with the updated `verification`.", schema: webhookSchema },
    },
    errors: ["not_found", "conflict"],
    audit: { action: "webhook.verify", target: "webhook", before: webhookBefore(services) },
    handle: async ({ scope, params }) => ({
      status: 200,
      body: webhookJson(await services.webhooks.verify(scope, params.id)),
    }),
  });
}

/** CEW-4.1.3-3: GET works too, because a person who finds the URL in a log opens it in a browser. */
function callbackRoute({ services }: ApiOptions, method: "GET" | "POST", operationId: string): Route {
  return defineRoute({
    method,
    path: "/v1/webhooks/{id}/verification-callback",
    operationId,
    tag: "Webhooks",
    summary: "Permit deliveries to a webhook",
    description:
      "For receivers: the URL was sent in `WebHook-Request-Callback`, can be used once within seven days, and needs no API key. The header `WebHook-Allowed-Rate` is optional; without it, the requested rate is permitted. The body is ignored.",
    access: "public",
    params: webhookParams,
    query: callbackQuerySchema,
    bodyIgnored: true,
    ...(method === "GET" && { changesByGet: true }),
    answers: { 200: { description: "Deliveries start.", schema: callbackResultSchema } },
    errors: ["not_found"],
    audit: {
      action: "webhook.confirm_verification",
      target: "webhook",
      before: ({ params }: Call<{ readonly id: string }>) => webhookTenant(services, params.id),
    },
    handle: async ({ params, query, headers }) => {
      const { webhookId, allowedRatePerMinute } = await services.webhooks.confirmVerification({
        id: params.id,
        key: query.key,
        allowedRate: oneValue(headers["webhook-allowed-rate"]),
      });
      return {
        status: 200,
        headers: { "cache-control": "no-store", "referrer-policy": "no-referrer" },
        body: { webhook_id: webhookId, state: "granted", allowed_rate_per_minute: allowedRatePerMinute },
      };
    },
  });
}

/** Node joins repeated headers with commas, which a rate cannot contain. */
function oneValue(value: string | readonly string[] | undefined): string | null {
  return typeof value === "object" ? value.join(", ") : (value ?? null);
}

function incidentRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/webhooks/{id}/incidents",
    operationId: "reportIncident",
    tag: "Webhooks",
    summary: "Report a security incident of a webhook",
    description:
      "For receivers with a key of the role `publish`: a message was forged, arrived too late, or reused a key. The incident is logged and announced as `posthorn.webhook.incident_reported`.",
    access: "publish",
    params: webhookParams,
    body: incidentInputSchema,
    answers: { 202: { description: "The incident is recorded.", schema: incidentResultSchema } },
    errors: ["not_found", "rate_limited"],
    audit: { action: "webhook.report_incident", target: "webhook", before: webhookBefore(services) },
    handle: async ({ scope, params, body }) => {
      const command = { id: params.id, ...inputOf(incidentFields, body) };
      const { eventId } = await services.webhooks.reportIncident(scope, command);
      return { status: 202, body: { event_id: eventId } };
    },
  });
}
