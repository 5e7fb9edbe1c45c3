/**
 * Configuration that another process has changed. Like every hint it may come late, twice or not at all; its receiver
 * reads the store.
 */
export type ConfigChange =
  /** Saved, deleted, or with other keys. */
  | { readonly kind: "webhooks"; readonly webhookIds: readonly string[] }
  | { readonly kind: "tenant_keys"; readonly tenantIds: readonly string[] }
  | { readonly kind: "tenants" }
  | { readonly kind: "api_keys" }
  | { readonly kind: "event_types" }
  /** Sessions of the portal were ended, or its settings changed. */
  | { readonly kind: "portal" }
  /** Sources or connections of the gateway. */
  | { readonly kind: "gateway" }
  /** Orders wait for the owner (ownership.ts). */
  | { readonly kind: "orders"; readonly webhookIds: readonly string[] };
