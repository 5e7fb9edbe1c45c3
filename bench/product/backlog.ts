import { circuitToJson, createCircuit } from "../../src/domain/circuit-breaker.ts";
import type { WebhookRuntimeState } from "../../src/ports/store/deliveries.ts";
import { commit, lane, publishCommand } from "../../test/conformance/store/scene.fixture.ts";
import { eventTypeOf, messageBody } from "../message.ts";
import type { Product } from "./compose.ts";

export interface ParkInput {
  /** Each event creates a parked delivery for every one of these webhooks. */
  readonly webhookIds: readonly string[];
  readonly events: number;
  /** Milliseconds until the deliveries are due. */
  readonly dueInMs: number;
  /** Whether the circuits of the webhooks are open and stay open. */
  readonly circuitsOpen: boolean;
}

const parkedPerCommit = 10;
const circuitOpenMs = 6 * 3_600_000;

/**
 * Writes a large backlog directly to the store. Each event goes to many webhooks at once, so that a million deliveries
 * share a thousand bodies and are written within seconds.
 */
export async function park({ store, engine }: Product, input: ParkInput): Promise<void> {
  const { webhookIds, events, dueInMs, circuitsOpen } = input;
  const now = Date.now();
  if (circuitsOpen) await commit(store, { webhookStates: webhookIds.map((id) => openCircuit(id, now)) });
  const body = messageBody();
  for (let written = 0; written < events; written += parkedPerCommit) {
    const publishes = Array.from({ length: Math.min(parkedPerCommit, events - written) }, () =>
      publishCommand({
        event: { id: engine.nextId(), eventType: eventTypeOf(0), createdAt: now, body },
        deliveries: webhookIds.map((id) => ({ id: engine.nextId(), lane: lane(id), dueAt: now + dueInMs })),
      }),
    );
    await commit(store, { publishes });
  }
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

export interface OldEventsInput {
  readonly webhookId: string;
  readonly events: number;
  readonly ageMs: number;
}

const oldPerCommit = 1_000;
const oldBody = Buffer.from(`{"type":"order.old","data":{"text":"${"x".repeat(200)}"}}`);

/** Writes old events directly to the store. Each has one skipped delivery. */
export async function writeOldEvents({ store, engine }: Product, input: OldEventsInput): Promise<void> {
  const skipped = { lane: lane(input.webhookId), state: "skipped", reason: "webhook_disabled" } as const;
  for (let written = 0; written < input.events; written += oldPerCommit) {
    const createdAt = Date.now() - input.ageMs;
    const publishes = Array.from({ length: Math.min(oldPerCommit, input.events - written) }, () =>
      publishCommand({
        event: { id: engine.nextId(), eventType: "order.old", createdAt, body: oldBody },
        deliveries: [{ ...skipped, id: engine.nextId() }],
      }),
    );
    await commit(store, { publishes });
  }
}
