import type { StatementSync } from "node:sqlite";
import { waitingLookedMax } from "../../../../ports/store/search.ts";
import type { StoreState } from "../state.ts";

/** Positions of waiting deliveries. Some may have ended in between: the row decides. */
export interface WaitingPositions {
  readonly positions: readonly number[];
  readonly areAll: boolean;
}

/**
 * Finds waiting deliveries without walking through the history. They are in their lanes; those leased as they were
 * written have no position in a lane, and are in memory.
 */
export class WaitingDeliveries {
  readonly #state: StoreState;
  readonly #all: StatementSync;
  readonly #ofWebhooks: StatementSync;

  constructor(state: StoreState) {
    this.#state = state;
    const entries = "SELECT e.delivery FROM lane_entries e";
    const { connection } = state;
    this.#all = connection.prepare(`${entries} LIMIT ${waitingLookedMax + 1}`);
    this.#ofWebhooks = connection.prepare(
      `${entries} WHERE e.lane IN (SELECT l.ref FROM lanes l WHERE l.webhook IN (SELECT value FROM json_each(?)))
       LIMIT ${waitingLookedMax + 1}`,
    );
  }

  /** Of these webhooks, or of all. A single lookup: between several, a delivery could change its position. */
  positions(webhookIds: readonly string[] | null): WaitingPositions {
    const { strings, leases } = this.#state;
    const rows =
      webhookIds === null
        ? this.#all.all()
        : this.#ofWebhooks.all(
            JSON.stringify(webhookIds.map((id) => strings.find(id)).filter((ref) => ref !== null)),
          );
    const placed = (rows as unknown as [delivery: number][]).map(([delivery]) => delivery);
    const fresh = [...leases.fresh()].map(([seq]) => seq);
    return { positions: [...placed, ...fresh], areAll: placed.length <= waitingLookedMax };
  }
}
