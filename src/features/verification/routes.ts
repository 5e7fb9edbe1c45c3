import type { ApiOptions } from "../../http/context.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import { incidentFields } from "../../resources/actions.ts";
import {
  callbackQuerySchema,
  callbackResultSchema,
  incidentInputSchema,
  incidentResultSchema,
} from "../../resources/webhook-state.ts";
import { plainWebhookRoutes, webhookParams } from "../webhooks/routes.ts";
import { webhookJson } from "../webhooks/views.ts";

/** Calls between receivers and Posthorn, except deliveries. */
export function webhookVerificationRoutes(options: ApiOptions): readonly Route[] {
  const { webhooks } = options.services;
  const routes = plainWebhookRoutes(options);
  return [
    routes.action(
      "verify",
      {
        summary: "Verify a webhook again",
        description:
          "Runs the method of `verification` once more and returns the result. An explicit refusal revokes an earlier permission.",
        capability: "endpoints:write",
        answer: "The webhook with the updated `verification`.",
        errors: ["not_found", "conflict"],
      },
      async (scope, id) => webhookJson(await webhooks.verify(scope, id)),
    ),
    callbackRoute(options, "GET", "confirmVerification"),
    callbackRoute(options, "POST", "postVerificationConfirmation"),
    routes.action(
      "report_incident",
      {
        place: "/incidents",
        operationId: "reportIncident",
        summary: "Report a security incident of a webhook",
        description:
          "For receivers that have a key with the role `publish`: a message was forged, arrived too late, or reused a key. The incident is logged and announced as `posthorn.webhook.incident_reported`.",
        access: "publish",
        takes: incidentFields,
        body: incidentInputSchema,
        status: 202,
        answer: "The incident is recorded.",
        schema: incidentResultSchema,
        errors: ["not_found", "rate_limited"],
      },
      async (scope, id, input) => {
        const { eventId } = await webhooks.reportIncident(scope, { id, ...input });
        return { event_id: eventId };
      },
    ),
  ];
}

/** CEW-4.1.3-3: GET is accepted too, because a person who finds the URL in a log opens it in a browser. */
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
    changesByGet: method === "GET",
    answers: { 200: { description: "Deliveries start.", schema: callbackResultSchema } },
    errors: ["not_found"],
    audit: {
      action: "webhook.confirm_verification",
      target: "webhook",
      // The caller has no key, and may see only the tenant of the webhook.
      before: async ({ params }: Call<{ readonly id: string }>) => {
        const { webhook } = await services.webhooks.get({ tenantId: null }, params.id);
        return { tenant_id: webhook.tenantId };
      },
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

/** Node joins repeated headers with commas, which cannot occur in a rate. */
function oneValue(value: string | readonly string[] | undefined): string | null {
  return typeof value === "object" ? value.join(", ") : (value ?? null);
}
