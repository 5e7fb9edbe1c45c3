import type { CommitBatch, WebhookRuntimeState } from "../../ports/store/deliveries.ts";
import { PendingStates } from "./pending-states.ts";
import type { OperationalEvents } from "../endpoint/operational-events.ts";

/** What a transaction takes along of each. */
export type TakenStates = Required<Pick<CommitBatch, "webhookStates" | "operationalEvents">>;

const statesMax = 1_024;

/** What the next transaction takes along though nobody waits for it: states of webhooks, and what is to be told. */
export class WaitingStates {
  readonly #changed: () => readonly WebhookRuntimeState[];
  readonly #events: OperationalEvents;
  readonly #states = new PendingStates();

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
    this.#states.add(this.#changed());
    const webhookStates = this.#states.take(statesMax);
    return { webhookStates, operationalEvents: this.#events.take() };
  }

  /** The transaction was not written; what changed since then counts. */
  putBack({ webhookStates, operationalEvents = [] }: CommitBatch): void {
    this.#states.putBack(webhookStates);
    this.#events.putBack(operationalEvents);
  }

  written({ operationalEvents = [] }: CommitBatch): void {
    this.#events.written(operationalEvents);
  }
}
