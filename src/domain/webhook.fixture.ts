import { type Webhook, webhookDefaults } from "./webhook.ts";

/** An active webhook of the default tenant that subscribes to all events and overrides nothing in its profile. */
export function webhookAt(now: number, fields: Partial<Webhook> = {}): Webhook {
  return {
    id: "w",
    tenantId: "default",
    ownerId: null,
    url: "https://example.com/hook",
    events: ["*"],
    description: "",
    status: "active",
    statusReason: null,
    statusChangedAt: now,
    profile: "standard",
    schemes: null,
    ...webhookDefaults,
    retry: { schedule: null, ageMsMax: null, timeoutMs: null, timeoutGrowthFactor: null },
    circuitBreaker: {},
    rateLimit: null,
    ordering: "none",
    headers: {},
    metadata: {},
    createdAt: now,
    updatedAt: now,
    ...fields,
  };
}
