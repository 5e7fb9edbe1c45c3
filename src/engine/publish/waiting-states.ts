import type { CommitBatch, WebhookRuntimeState } from "../../ports/store/deliveries.ts";
import type { OperationalEvents } from "./operational-events.ts";

/** What a transaction takes along of each. */
export type TakenStates = Required<Pick<CommitBatch, "webhookStates" | "operationalEvents">>;

const statesMax = 1_024;

/** What the next transaction takes along though nobody waits for it: states of webhooks, and what is to be told. */
export class WaitingStates {
  readonly #changed: () => readonly WebhookRuntimeState[];
  readonly #events: OperationalEvents;
  readonly #states = new Map<string, WebhookRuntimeState>();

  /** `changed`: states of webhooks that changed since they were written. */
  constructor(changed: () => readonly WebhookRuntimeState[], events: OperationalEvents) {
    this.#changed = changed;
    this.#events = events;
  }

  /** States that a transaction could not take. */
  get size(): number {
    return this.#states.size;
  }

  take(): TakenStates {
    for (const state of this.#changed()) this.#states.set(state.webhookId, state);
    const webhookStates = [...this.#states.values()].slice(0, statesMax);
    for (const { webhookId } of webhookStates) this.#states.delete(webhookId);
    return { webhookStates, operationalEvents: this.#events.take() };
  }

  /** The transaction was not written; what changed since then counts. */
  putBack({ webhookStates, operationalEvents = [] }: CommitBatch): void {
    for (const state of webhookStates) {
      if (!this.#states.has(state.webhookId)) this.#states.set(state.webhookId, state);
    }
    this.#events.putBack(operationalEvents);
  }

  written({ operationalEvents = [] }: CommitBatch): void {
    this.#events.written(operationalEvents);
  }
}
