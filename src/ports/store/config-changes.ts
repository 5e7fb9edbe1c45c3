/**
 * Configuration that another process changed. Like every hint, it may be late, repeated or lost; the receiver reads
 * the store.
 */
export type ConfigChange =
  /** Saved, deleted, or given new keys. */
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
