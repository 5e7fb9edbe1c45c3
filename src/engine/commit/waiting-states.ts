import type { CommitBatch, WebhookRuntimeState } from "../../ports/store/deliveries.ts";
import type { OperationalEvents } from "../endpoint/operational-events.ts";

/** Webhook states that wait for a commit: the newest of each webhook, with all its circuit moves. */
class PendingStates {
  readonly #states = new Map<string, WebhookRuntimeState>();

  get size(): number {
    return this.#states.size;
  }

  add(states: readonly WebhookRuntimeState[]): void {
    for (const state of states)
      this.#states.set(state.webhookId, joined(this.#states.get(state.webhookId), state));
  }

  /** Returns states that could not be written; newer states take precedence. */
  putBack(states: readonly WebhookRuntimeState[]): void {
    for (const state of states) {
      const newer = this.#states.get(state.webhookId);
      this.#states.set(state.webhookId, newer === undefined ? state : joined(state, newer));
    }
  }

  take(countMax: number): readonly WebhookRuntimeState[] {
    const taken = [...this.#states.values()].slice(0, countMax);
    for (const { webhookId } of taken) this.#states.delete(webhookId);
    return taken;
  }
}

function joined(older: WebhookRuntimeState | undefined, newer: WebhookRuntimeState): WebhookRuntimeState {
  return older?.moves === undefined ? newer : { ...newer, moves: [...older.moves, ...(newer.moves ?? [])] };
}

/** The webhook states and events of one transaction. */
type TakenStates = Required<Pick<CommitBatch, "webhookStates" | "operationalEvents">>;

/** As many as settlements fit into a transaction: most settlements of a burst change the state of their webhook. */
const statesMax = 128;

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
