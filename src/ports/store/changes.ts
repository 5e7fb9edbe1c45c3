import type { LaneKey } from "../../core/webhook.ts";
import type { ConfigChange } from "./config-changes.ts";

/**
 * Hints of work from other processes: deliveries that they wrote, released, or may not go on with. A hint may come
 * late, twice or not at all, so receivers still look by themselves from time to time.
 */
export interface StoreChanges {
  /** Returns a function that ends the subscription. Listeners must not throw. */
  subscribe(listener: (change: StoreChange) => void): () => void;
}

/**
 * Lanes to look into, configuration to read again, or `unknown`: something may have been missed, look everywhere. `silentMs`
 * where nothing was heard for so long although there was something to hear.
 */
export type StoreChange =
  | { readonly kind: "lanes"; readonly lanes: readonly LaneKey[] }
  | { readonly kind: "config"; readonly change: ConfigChange }
  | { readonly kind: "unknown"; readonly silentMs?: number };
