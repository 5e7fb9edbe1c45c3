import type { WebhookRuntimeState } from "../../ports/store/deliveries.ts";

/** Webhook states that wait for a commit: the newest of each webhook, with all its circuit moves. */
export class PendingStates {
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
