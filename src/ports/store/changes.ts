import type { LaneKey } from "../../core/webhook.ts";
import type { ConfigChange } from "./config-changes.ts";

/**
 * Hints about work from other processes: deliveries that they wrote or released, or that must stop. A hint may be
 * late, repeated or lost, so receivers still poll periodically.
 */
export interface StoreChanges {
  /** False where only configuration is announced, so that receivers have to look for work often. */
  readonly carriesWork: boolean;
  /** Returns a function that ends the subscription. Listeners must not throw. */
  subscribe(listener: (change: StoreChange) => void): () => void;
}

/**
 * Lanes to check, configuration to reload, or `unknown`: hints may have been missed, so check everything. `silentMs`
 * is set if hints were expected and none arrived for that long.
 */
export type StoreChange =
  | { readonly kind: "lanes"; readonly lanes: readonly LaneKey[] }
  | { readonly kind: "config"; readonly change: ConfigChange }
  | { readonly kind: "unknown"; readonly silentMs?: number };
