import type { AuditEntry } from "./audit.ts";
import type { OperationalEvent } from "../../features/notifications/operational-event.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { WebhookHistoryEntry } from "../../domain/webhook-history.ts";
import type { Page, PageRequest } from "../store.ts";
import type { WebhookRuntimeState } from "./deliveries.ts";

/** Webhooks, their secrets and their runtime state. The data is small and is read completely at start. */
export interface WebhookStore {
  /**
   * Creates or replaces a webhook, and returns it with its revision. The store assigns the next revision if the
   * configuration or the keys differ from the stored ones. `updatedAt` is set by the caller. A deleted webhook stays
   * deleted, without keys. Its keys, history, audit row and events are written in the same transaction, as with
   * `delete`.
   */
  save(webhook: Webhook, beside?: SavedBeside): Promise<Webhook>;
  /** Marks the webhook as deleted and erases its secrets. Upkeep cancels its waiting deliveries in small steps. */
  delete(id: string, deletedAt: number, beside?: WrittenBeside): Promise<void>;
  /**
   * All webhooks that are not deleted, in order of creation, a page at a time (`after` is the last ID of the previous
   * page).
   */
  page(after: string | null, limit: number): Promise<readonly StoredWebhook[]>;
  /** Those of these webhooks that exist and are not deleted, in any order. */
  some(ids: readonly string[]): Promise<readonly StoredWebhook[]>;
  /** History of a webhook, newest first. A limited number of entries is kept until the webhook is deleted. */
  history(query: WebhookHistoryQuery): Promise<Page<StoredHistoryEntry>>;
  /** Replaces the asymmetric keys of a tenant, which its webhooks share (TS16-73). */
  saveTenantKeys(tenantId: string, keys: readonly StoredSecret[]): Promise<void>;
  tenantKeys(tenantId: string): Promise<readonly StoredSecret[]>;
  /** The webhook that uses a secret with this digest, to prevent reuse (TS16-74); null if there is none. */
  findBySecretDigest(
    digest: string,
  ): Promise<{ readonly webhookId: string; readonly tenantId: string } | null>;
  /** Whether any secret of a webhook or a tenant is stored. */
  hasSecrets(): Promise<boolean>;
  /** IDs of deleted webhooks whose waiting deliveries upkeep has not finished cancelling. */
  deletedWithWork(): Promise<readonly string[]>;
}

/** The audit row and the operational events that are written with a change. */
export interface WrittenBeside {
  readonly audit?: AuditEntry | undefined;
  readonly events?: readonly OperationalEvent[];
}

/** The rows that are written with a saved change. */
export interface SavedBeside extends Omit<WrittenBeside, "events"> {
  /** Replaces all signing keys and credentials of the webhook. If omitted, they are unchanged. */
  readonly secrets?: readonly StoredSecret[];
  /** A function is called with the saved webhook, including its revision. It may be called more than once. */
  readonly events?: WrittenBeside["events"] | ((saved: Webhook) => readonly OperationalEvent[]);
}

/** Selects the history of one webhook: everything, or only configuration revisions. */
export interface WebhookHistoryQuery {
  readonly webhookId: string;
  readonly revisionsOnly: boolean;
  readonly page: PageRequest;
}

/** An entry with its position in the listing. */
export interface StoredHistoryEntry extends WebhookHistoryEntry {
  readonly position: number;
}

/** A webhook with its keys. `runtime` is null until the first failure or success was written. */
export interface StoredWebhook {
  readonly webhook: Webhook;
  readonly secrets: readonly StoredSecret[];
  readonly runtime: WebhookRuntimeState | null;
}

/**
 * `symmetric` signs `v1`, `x-webhook-v1` and `rfc9421-hmac-sha256`; `ed25519` signs `v1a` and `rfc9421-ed25519`. All
 * others are credentials: a bearer token, an OAuth 2.0 client secret, a JSON object of header names and values, a JSON
 * object `{certificatePem, privateKeyPem}`.
 */
export type SecretKind =
  | "symmetric"
  | "ed25519"
  | "bearer"
  | "oauth2_client_secret"
  | "credential_headers"
  | "client_certificate";

/** An encrypted key. The store never receives the plain text. */
export interface StoredSecret {
  readonly kind: SecretKind;
  readonly ciphertext: Uint8Array;
  /** Keyed digest of the plain text, for equality only. */
  readonly digest: string;
  readonly createdAt: number;
  /** Set on the old key of a graceful rotation. The key is not used after this time. */
  readonly expiresAt: number | null;
}
