/** Checks a webhook URL, and whether its receiver behaves correctly. */
import { InvalidRequestError, PosthornError } from "../../core/errors.ts";
import { receiverCheckFields, urlCheckFields } from "../../core/fields/actions.ts";
import { judgeField } from "../../core/fields/judge.ts";
import { OutsideCalls } from "../../services/outside-calls.ts";
import type { ApiOptions } from "../context.ts";
import { inputOf } from "../mapping/fields.ts";
import { defineRoute } from "../route.ts";
import type { Route } from "../route.ts";
import {
  receiverCheckInputSchema,
  receiverCheckSchema,
  urlCheckInputSchema,
  urlCheckSchema,
} from "../schemas/webhook-checks.ts";
import { webhookBefore, webhookParams } from "./webhooks.ts";

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
      const problems = judgeField(urlCheckFields.url, { path: "url", value: url });
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
