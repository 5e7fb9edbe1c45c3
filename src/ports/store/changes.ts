import type { LaneKey } from "../../domain/webhook.ts";

/**
 * Announces configuration that another process changed. Like every hint, an announcement may be late, repeated or lost;
 * the receiver reads the store.
 */
export type ConfigChange =
  /** Webhooks that were saved, deleted, or given new keys. */
  | { readonly kind: "webhooks"; readonly webhookIds: readonly string[] }
  | { readonly kind: "tenant_keys"; readonly tenantIds: readonly string[] }
  | { readonly kind: "tenants" }
  | { readonly kind: "api_keys" }
  | { readonly kind: "event_types" }
  /** Portal sessions were ended, or portal settings changed. */
  | { readonly kind: "portal" }
  /** Sources or connections of the gateway. */
  | { readonly kind: "gateway" }
  /** Orders that wait for the owner (ownership.ts). */
  | { readonly kind: "orders"; readonly webhookIds: readonly string[] };

/**
 * Hints about work from other processes: deliveries that they wrote or released, or that must stop. A hint may be
 * late, repeated or lost, so receivers still poll periodically.
 */
export interface StoreChanges {
  /** False if only configuration changes are announced. Receivers then have to poll for work often. */
  readonly carriesWork: boolean;
  /** Returns a function that ends the subscription. Listeners must not throw. */
  subscribe(listener: (change: StoreChange) => void): () => void;
}

/**
 * Lanes to check, configuration to reload, or `unknown`, which means that hints may have been missed and everything
 * must be checked. `silentMs` is set if hints were expected but none arrived for that time.
 */
export type StoreChange =
  | { readonly kind: "lanes"; readonly lanes: readonly LaneKey[] }
  | { readonly kind: "config"; readonly change: ConfigChange }
  | { readonly kind: "unknown"; readonly silentMs?: number };
