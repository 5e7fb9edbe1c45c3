import assert from "node:assert/strict";
import { createClient, textOf } from "../api/client.fixture.ts";
import type { PosthornServer } from "./posthorn-server.fixture.ts";
import type { Address } from "./publisher.fixture.ts";
import type { OutageReceiver } from "./receiver.fixture.ts";

export const adminKey = "a key that only this deployment knows";

const tenants = ["amber", "birch", "cedar"] as const;
/** The tenant's limit uses the shared state, but the load never reaches it. */
const limitedTenant = "cedar";
const wideLimit = { requests_per_minute: 60_000, burst: 1_000 };
const orderings = ["none", "none", "strict", "per_event_type"] as const;
const typesEach = ["a", "b", "c"] as const;
const webhookCount = 20;

interface PlannedWebhook {
  /** Prefix of the webhook's event types, and the webhook's path at the receiver. */
  readonly name: string;
  readonly tenantId: string;
  readonly ordering: (typeof orderings)[number];
}

const planned: readonly PlannedWebhook[] = Array.from({ length: webhookCount }, (_, index) => {
  const ordering = orderings[index % orderings.length] ?? "none";
  const tenantId = tenants[index % tenants.length] ?? tenants[0];
  return { name: `w${index}_${ordering}`, tenantId, ordering };
});

export const webhookNames: readonly string[] = planned.map(({ name }) => name);

/** One unordered webhook and one ordered webhook. */
export const flakyWebhooks: readonly string[] = ["w1_none", "w6_strict"];

/** One target per webhook and event type, sorted so that the webhooks alternate. */
export function addressesOf(): readonly Address[] {
  return typesEach.flatMap((type) =>
    planned.map(({ name, tenantId, ordering }): Address => {
      const eventType = `${name}.${type}`;
      const lanes = { none: null, strict: name, per_event_type: eventType };
      return { tenantId, eventType, webhook: name, orderedLane: lanes[ordering] };
    }),
  );
}

/** Creates the webhooks through one API and waits until every API can read them. Returns their names by ID. */
export async function registerWebhooks(
  apis: readonly PosthornServer[],
  receiver: OutageReceiver,
): Promise<ReadonlyMap<string, string>> {
  const clients = apis.map(({ url }) => createClient({ baseUrl: url ?? "", key: adminKey }));
  const [first] = clients;
  assert.ok(first !== undefined);
  for (const tenantId of tenants) {
    const { status, text } = await first.call("PUT", `/v1/tenants/${tenantId}`, {
      body: { rate_limit: tenantId === limitedTenant ? wideLimit : null },
    });
    assert.ok(status === 201 || status === 200, text);
  }
  const names = new Map<string, string>();
  for (const { name, tenantId, ordering } of planned) {
    const { status, body, text } = await first.post("/v1/webhooks", {
      url: receiver.url(name),
      tenant_id: tenantId,
      events: [`${name}.*`],
      ordering_guarantee: ordering,
      retry_config: { schedule_ms: Array.from({ length: 15 }, () => 300) },
    });
    assert.equal(status, 201, text);
    names.set(textOf(body["id"]), name);
  }
  // This call makes the other process load the webhook.
  for (const client of clients)
    for (const id of names.keys()) assert.equal((await client.get(`/v1/webhooks/${id}`)).status, 200);
  return names;
}
