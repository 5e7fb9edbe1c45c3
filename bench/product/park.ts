import { circuitToJson, createCircuit } from "../../src/domain/circuit-breaker.ts";
import type { PublishCommand, WebhookRuntimeState } from "../../src/ports/store/deliveries.ts";
import { eventTypeOf, messageBody } from "../message.ts";
import type { Product } from "./compose.ts";

export interface ParkInput {
  /** Each event is parked for all of these. */
  readonly webhookIds: readonly string[];
  readonly events: number;
  /** Distance to the time when they are due; 0 is due now. */
  readonly dueInMs: number;
  /** Their circuits are open, and stay so. */
  readonly circuitsOpen: boolean;
}

const eventsPerCommit = 10;
const circuitOpenMs = 6 * 3_600_000;

/**
 * Writes a large backlog straight into the store, past publishing: one event for many webhooks at a time, so that a
 * million deliveries share a thousand bodies and take seconds.
 */
export async function park(product: Product, input: ParkInput): Promise<void> {
  const { deliveries } = product.store;
  const now = Date.now();
  const webhookStates = input.circuitsOpen ? input.webhookIds.map((id) => openCircuit(id, now)) : [];
  await deliveries.commit({ publishes: [], requeues: [], retries: [], settlements: [], webhookStates });
  for (let written = 0; written < input.events; written += eventsPerCommit) {
    const count = Math.min(eventsPerCommit, input.events - written);
    const publishes = Array.from({ length: count }, () => publishOf(product, { ...input, now }));
    await deliveries.commit({ publishes, requeues: [], retries: [], settlements: [], webhookStates: [] });
  }
}

function publishOf(product: Product, input: ParkInput & { readonly now: number }): PublishCommand {
  const { now } = input;
  return {
    event: {
      id: product.engine.nextId(),
      tenantId: "default",
      eventType: eventTypeOf(0),
      timestamp: now,
      source: null,
      idempotencyKey: null,
      fingerprint: null,
      priority: "normal",
      createdAt: now,
      contentType: "application/json",
      trace: null,
      relayed: null,
      raw: false,
      body: messageBody(),
    },
    deliveries: input.webhookIds.map((webhookId) => ({
      id: product.engine.nextId(),
      lane: { webhookId, ordering: "none", eventType: null },
      priority: "normal",
      state: "pending",
      reason: null,
      dueAt: now + input.dueInMs,
      createdAt: now,
      origin: "publish",
      format: "standard",
      claim: false,
      leaseUntil: 0,
    })),
    dedupUntil: null,
  };
}

function openCircuit(webhookId: string, now: number): WebhookRuntimeState {
  const circuit = { ...createCircuit(now), phase: "open", halfOpenAt: now + circuitOpenMs } as const;
  return {
    webhookId,
    pausedUntil: null,
    pauseReason: null,
    lastSuccessAt: null,
    circuit: JSON.stringify(circuitToJson(circuit)),
    health: null,
  };
}
