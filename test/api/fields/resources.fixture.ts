/** All resources that callers can create or update, each with its API route and its library call. */
import assert from "node:assert/strict";
import {
  type LibraryApiKeys,
  type LibraryDeadLetters,
  type LibraryDeliveries,
  type LibraryEvents,
  type LibraryEventTypes,
  type LibraryProblems,
  type LibraryWebhooks,
  libraryOf,
} from "../../../src/app/library-calls.ts";
import type { RunningPosthorn } from "../../../src/app/posthorn.ts";
import { validFields } from "../../../src/features/input.ts";
import {
  circuitActionFields,
  deliveryRetryFields,
  incidentFields,
  pauseFields,
  recoverFields,
  replayFields,
  retryBatchFields,
  rotateFields,
  testFields,
  urlCheckFields,
} from "../../../src/resources/actions.ts";
import { alertRuleFields } from "../../../src/resources/alert.ts";
import { apiKeyFields } from "../../../src/resources/api-key.ts";
import { problemChangeFields } from "../../../src/resources/delivery-problem.ts";
import { eventFields } from "../../../src/resources/event-input.ts";
import { eventTypeFields } from "../../../src/resources/event-type.ts";
import {
  cancelDeliveriesFields,
  discardFields,
  retryDeliveriesFields,
} from "../../../src/resources/operation.ts";
import {
  portalRevokeFields,
  portalSessionFields,
  portalSettingsFields,
} from "../../../src/resources/portal.ts";
import { tenantFields } from "../../../src/resources/tenant.ts";
import { webhookFields } from "../../../src/resources/webhook.ts";
import { refusingPath } from "../../scenarios/api/agreeable-transport.fixture.ts";
import { gatewayResources } from "./gateway-resources.fixture.ts";
import type { Specials } from "./probes.fixture.ts";
import type { Resource } from "./resource.fixture.ts";
import { newSecret, webhookSpecials } from "./webhook-specials.fixture.ts";

export async function resourcesOf(running: RunningPosthorn): Promise<readonly Resource[]> {
  const { services } = running;
  const admin = { tenantId: null };
  const webhooks = libraryOf<LibraryWebhooks>(services, "webhooks", admin);
  const newWebhook = async () =>
    (await webhooks.create({ url: "https://example.com/", events: ["*"] })).view.webhook.id;
  const webhookId = await newWebhook();
  const { id: eventId } = await services.events.publish(admin, { eventType: "a.b", data: { n: 1 } });
  const events = libraryOf<LibraryEvents>(services, "events", admin);
  const [delivery] = (await events.deliveries({ eventId })).rows;
  const deliveryId = await delivered(running, delivery?.delivery.id ?? "");
  const fixed = (path: string) => () => Promise.resolve(path);
  return [
    {
      components: ["ApiKeyInput"],
      fields: apiKeyFields,
      method: "POST",
      path: fixed("/v1/api-keys"),
      call: (input) => libraryOf<LibraryApiKeys>(services, "apiKeys", admin).create(input as never),
      always: { name: "a key", role: "read" },
      specials: { tenantId: { accepted: ["default"] } },
    },
    {
      components: ["TenantInput"],
      fields: tenantFields,
      method: "PUT",
      path: fixed("/v1/tenants/probe"),
      call: (input) => services.tenants.put(admin, { id: "probe", input }),
      always: {},
      specials: {},
    },
    {
      components: ["UrlCheckInput"],
      fields: urlCheckFields,
      method: "POST",
      path: fixed("/v1/webhooks/check-url"),
      call: async (input) => {
        const { url } = validFields(urlCheckFields, input, "the URL");
        return services.urlChecks.check(admin, url);
      },
      always: { url: "https://example.com/" },
      specials: {},
    },
    {
      components: ["PortalSessionInput"],
      fields: portalSessionFields,
      method: "POST",
      path: fixed("/v1/portal-sessions"),
      call: (input) => services.portalSessions.create(admin, input),
      always: {},
      specials: {
        tenantId: { accepted: ["default"] },
        webhookIds: { accepted: [[webhookId]] },
        origin: { accepted: ["https://app.example.com", "http://localhost:3000"] },
        locale: { accepted: ["de", "de-AT"] },
        ...themeSpecials,
      },
    },
    {
      components: ["PortalRevoke"],
      fields: portalRevokeFields,
      method: "POST",
      path: fixed("/v1/portal-sessions/revoke"),
      call: (input) => services.portalSessions.revoke(admin, input as { reference: string }),
      always: { reference: "somebody" },
      specials: { tenantId: { accepted: ["default"] } },
    },
    {
      components: ["PortalSettingsInput"],
      fields: portalSettingsFields,
      method: "PUT",
      path: fixed("/v1/portal-settings"),
      call: (input) => services.portalLooks.put(admin, null, input),
      always: {},
      specials: { origins: { accepted: [[], ["https://app.example.com"]] }, ...themeSpecials },
    },
    {
      components: ["EventTypeInput"],
      fields: eventTypeFields,
      method: "PUT",
      path: fixed("/v1/event-types/probe"),
      call: (input) =>
        libraryOf<LibraryEventTypes>(services, "eventTypes", admin).put({ name: "probe", ...input }),
      always: {},
      specials: {},
    },
    {
      components: ["WebhookCreate", "WebhookUpdate"],
      fields: webhookFields,
      method: "POST",
      path: fixed("/v1/webhooks"),
      call: (input) => webhooks.create(input),
      always: { url: "https://example.com/", events: ["order.*"] },
      specials: webhookSpecials,
    },
    {
      components: ["CircuitAction"],
      fields: circuitActionFields,
      method: "PATCH",
      path: fixed(`/v1/webhooks/${webhookId}/circuit-breaker`),
      call: (input) => webhooks.circuit({ id: webhookId, ...(input as { action: "reset" }) }),
      always: { action: "reset" },
      specials: {},
    },
    {
      components: ["PauseInput"],
      fields: pauseFields,
      method: "POST",
      path: fixed(`/v1/webhooks/${webhookId}/pause`),
      call: (input) =>
        webhooks.pause({
          id: webhookId,
          ...input,
          ...("until" in input && input.until === soonText && { until: soon }),
        }),
      always: {},
      specials: { until: { accepted: [soonText] } },
    },
    {
      components: ["RotateInput"],
      fields: rotateFields,
      method: "POST",
      path: fixed(`/v1/webhooks/${webhookId}/secret/rotate`),
      call: (input) => webhooks.rotateSecret({ id: webhookId, ...input }),
      always: { force: true },
      specials: {
        secret: { accepted: [newSecret] },
        force: { beside: () => ({ mode: "revoke" }) },
      },
    },
    {
      components: ["TestInput"],
      fields: testFields,
      method: "POST",
      path: fixed(`/v1/webhooks/${webhookId}/test`),
      call: (input) => webhooks.test({ id: webhookId, ...input }),
      always: {},
      specials: {},
    },
    {
      components: ["IncidentInput"],
      fields: incidentFields,
      method: "POST",
      // The number of reports per webhook is limited.
      path: async () => `/v1/webhooks/${await newWebhook()}/incidents`,
      call: async (input) => webhooks.reportIncident({ id: await newWebhook(), ...input } as never),
      always: { kind: "other", detail: "x" },
      specials: {},
    },
    {
      components: ["ReplayInput"],
      fields: replayFields,
      method: "POST",
      path: fixed(`/v1/events/${eventId}/replay`),
      call: (input) => events.replay({ eventId, ...input }),
      always: {},
      specials: { webhookIds: { accepted: [[webhookId], Array.from({ length: 1_000 }, () => webhookId)] } },
    },
    {
      components: ["RetryInput"],
      fields: deliveryRetryFields,
      method: "POST",
      path: fixed(`/v1/webhooks/${webhookId}/deliveries/${deliveryId}/retry`),
      call: (input) =>
        libraryOf<LibraryDeliveries>(services, "deliveries", admin).retry({
          webhookId,
          deliveryId,
          ...input,
        }),
      always: {},
      specials: {},
    },
    {
      components: ["RetryBatchInput"],
      fields: retryBatchFields,
      method: "POST",
      path: fixed("/v1/dlq/retry-batch"),
      call: (input) =>
        libraryOf<LibraryDeadLetters>(services, "deadLetters", admin).retryBatch({
          ...input,
          ...("startAt" in input && input.startAt === soonText && { startAt: soon }),
        }),
      always: {},
      specials: { startAt: { accepted: [soonText] } },
    },
    ...(await gatewayResources(running, webhookId)),
    ...bulkResources(running),
    ...alertResources(running, webhookId),
    await problemResource(running),
    {
      components: ["RecoverInput"],
      fields: recoverFields,
      method: "POST",
      path: fixed(`/v1/webhooks/${webhookId}/recover`),
      call: (input) => webhooks.recover({ id: webhookId, ...(input as { since: number }) }),
      always: { since: 0, dryRun: true },
      specials: { since: { accepted: [0, Date.UTC(2020, 0)] } },
    },
    {
      components: ["EventInput"],
      fields: eventFields,
      method: "POST",
      path: fixed("/v1/events"),
      call: (input) => services.events.publish(admin, { eventType: "a.b", data: { n: 1 }, ...input }),
      always: { eventType: "a.b", data: { n: 1 } },
      specials: {},
    },
  ];
}

function alertResources({ services }: RunningPosthorn, webhookId: string): readonly Resource[] {
  const admin = { tenantId: null };
  const { alerts } = services;
  assert.ok(alerts !== null);
  const common = { fields: alertRuleFields, always: { metric: "attempts", threshold: 1 } };
  const specials: Specials = {
    mutedUntil: { accepted: [soonText] },
    webhookId: { accepted: [webhookId] },
    // The other metrics are deployment-wide, but this rule belongs to a tenant.
    metric: { accepted: ["failure_rate", "attempts", "exhausted", "duration_ms_p95", "published"] },
    eventType: { beside: () => ({ metric: "published" }) },
  };
  return [
    {
      ...common,
      specials,
      components: ["AlertRuleInput"],
      method: "PUT",
      path: () => Promise.resolve(`/v1/alert-rules/probe-${++rulesMade % 100}?tenant_id=default`),
      call: (input) => alerts.preview(admin, "default", inTime(input)),
    },
  ];
}

let rulesMade = 0;

/** The library expects timestamps as numbers. */
function inTime(input: object): object {
  return "mutedUntil" in input && input.mutedUntil === soonText ? { ...input, mutedUntil: soon } : input;
}

async function problemResource(running: RunningPosthorn): Promise<Resource> {
  const admin = { tenantId: null };
  const { services } = running;
  const problems = libraryOf<LibraryProblems>(services, "problems", admin);
  const refused = { url: `https://example.com${refusingPath}`, events: ["probe.refused"] };
  await libraryOf<LibraryWebhooks>(services, "webhooks", admin).create(refused);
  await services.events.publish(admin, { eventType: "probe.refused", data: {} });
  const id = await firstProblem(running);
  return {
    components: ["DeliveryProblemChange"],
    fields: problemChangeFields,
    method: "PATCH",
    path: () => Promise.resolve(`/v1/problems/${id}`),
    call: (input) =>
      problems.change({
        id,
        ...inTime(input),
      }),
    always: {},
    specials: {
      mutedUntil: { accepted: [soonText], beside: () => ({ muted: true }) },
      muteReason: { beside: () => ({ muted: true }) },
    },
  };
}

async function firstProblem({ services }: RunningPosthorn): Promise<string> {
  for (;;) {
    const { rows } = await libraryOf<LibraryProblems>(services, "problems", { tenantId: null }).list();
    if (rows[0] !== undefined) return rows[0].problem.id;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Waits for a successful delivery, because such a delivery can be retried repeatedly. */
async function delivered({ services }: RunningPosthorn, id: string): Promise<string> {
  for (;;) {
    const { view } = await services.deliveries.get({ tenantId: null }, id);
    if (view.status === "success") return id;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const themeSpecials: Specials = {
  "theme.accent": { accepted: ["#0b63ce", "#FFFFFF"] },
  "theme.font": { accepted: ["system", "Inter"] },
  "theme.docsUrl": { accepted: ["https://example.com/docs"] },
  "theme.supportUrl": { accepted: ["https://example.com/?a=b"] },
  "theme.returnUrl": { accepted: ["http://localhost:3000/"] },
};

/** The end of a pause must be in the future. */
const soon = Date.now() + 3_600_000;
const soonText = new Date(soon).toISOString();

/** Exactly one of `ids` and `filter` must be given. */
function bulkResources({ services }: RunningPosthorn): readonly Resource[] {
  const admin = { tenantId: null };
  const [deliveries, deadLetters] = [
    libraryOf<LibraryDeliveries>(services, "deliveries", admin),
    libraryOf<LibraryDeadLetters>(services, "deadLetters", admin),
  ];
  const fixed = (path: string) => () => Promise.resolve(path);
  const common = {
    method: "POST",
    always: { filter: {}, dryRun: true },
    specials: { ids: { beside: () => ({ filter: undefined }) } },
  } as const;
  return [
    {
      ...common,
      components: ["RetryDeliveriesInput"],
      fields: retryDeliveriesFields,
      path: fixed("/v1/deliveries/retry-batch"),
      call: (input) => deliveries.retryBatch(input),
    },
    {
      ...common,
      components: ["CancelDeliveriesInput"],
      fields: cancelDeliveriesFields,
      path: fixed("/v1/deliveries/cancel-batch"),
      call: (input) => deliveries.cancelBatch(input),
    },
    {
      ...common,
      components: ["DiscardInput"],
      fields: discardFields,
      path: fixed("/v1/dlq/discard-batch"),
      call: (input) => deadLetters.discardBatch(input),
    },
  ];
}
