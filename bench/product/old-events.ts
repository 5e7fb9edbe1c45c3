import type { NewDelivery, PublishCommand } from "../../src/ports/store/deliveries.ts";
import type { Product } from "./compose.ts";

export interface OldEventsInput {
  readonly webhookId: string;
  readonly events: number;
  readonly ageMs: number;
}

const eventsPerCommit = 1_000;
const body = Buffer.from(`{"type":"order.old","data":{"text":"${"x".repeat(200)}"}}`);

/** Writes events that ended long ago straight into the store, each with a delivery that was skipped. */
export async function writeOldEvents(product: Product, input: OldEventsInput): Promise<void> {
  const { deliveries } = product.store;
  for (let written = 0; written < input.events; written += eventsPerCommit) {
    const count = Math.min(eventsPerCommit, input.events - written);
    const publishes = Array.from({ length: count }, () => oldEvent(product, input));
    await deliveries.commit({ publishes, requeues: [], retries: [], settlements: [], webhookStates: [] });
  }
}

function oldEvent(product: Product, { webhookId, ageMs }: OldEventsInput): PublishCommand {
  const at = Date.now() - ageMs;
  const delivery: NewDelivery = {
    id: product.engine.nextId(),
    lane: { webhookId, ordering: "none", eventType: null },
    priority: "normal",
    state: "skipped",
    reason: "webhook_disabled",
    dueAt: at,
    createdAt: at,
    origin: "publish",
    format: "standard",
    claim: false,
    leaseUntil: 0,
  };
  return {
    event: {
      id: product.engine.nextId(),
      tenantId: "default",
      eventType: "order.old",
      timestamp: at,
      source: null,
      idempotencyKey: null,
      fingerprint: null,
      priority: "normal",
      createdAt: at,
      contentType: "application/json",
      trace: null,
      relayed: null,
      raw: false,
      body,
    },
    deliveries: [delivery],
    dedupUntil: null,
  };
}
