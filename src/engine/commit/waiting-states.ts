import type { CommitBatch, WebhookRuntimeState } from "../../ports/store/deliveries.ts";
import { PendingStates } from "./pending-states.ts";
import type { OperationalEvents } from "../endpoint/operational-events.ts";

/** The webhook states and events of one transaction. */
export type TakenStates = Required<Pick<CommitBatch, "webhookStates" | "operationalEvents">>;

const statesMax = 1_024;

/** Data that the next transaction includes although no caller waits for it: webhook states and operational events. */
export class WaitingStates {
  readonly #changed: () => readonly WebhookRuntimeState[];
  readonly #events: OperationalEvents;
  readonly #states = new PendingStates();

  /** `changed` returns webhook states that changed since they were last written. */
  constructor(changed: () => readonly WebhookRuntimeState[], events: OperationalEvents) {
    this.#changed = changed;
    this.#events = events;
  }

  /** States that did not fit into a transaction. */
  get size(): number {
    return this.#states.size;
  }

  take(): TakenStates {
    this.#states.add(this.#changed());
    const webhookStates = this.#states.take(statesMax);
    return { webhookStates, operationalEvents: this.#events.take() };
  }

  /** The transaction was not written; newer states take precedence. */
  putBack({ webhookStates, operationalEvents = [] }: CommitBatch): void {
    this.#states.putBack(webhookStates);
    this.#events.putBack(operationalEvents);
  }

  written({ operationalEvents = [] }: CommitBatch): void {
    this.#events.written(operationalEvents);
  }
}
