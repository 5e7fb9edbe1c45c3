import type { AuditEntry } from "./audit.ts";
import type { OperationalEvent } from "../../features/notifications/operational-event.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { WebhookHistoryEntry } from "../../domain/webhook-history.ts";
import type { Page, PageRequest } from "../store.ts";
import type { WebhookRuntimeState } from "./deliveries.ts";

/** Webhooks, their secrets and their runtime state. The data is small and is read completely at start. */
export interface WebhookStore {
  /**
   * Creates or replaces a webhook, and returns the webhook with its revision. The store assigns the next revision if
   * the configuration or the keys differ from the stored ones. `updatedAt` is set by the caller. A deleted webhook
   * stays deleted, without keys. Like `delete`, this writes keys, history, audit row and events in the same
   * transaction.
   */
  save(webhook: Webhook, beside?: SavedBeside): Promise<Webhook>;
  /** Marks the webhook as deleted and erases its secrets. Upkeep cancels its waiting deliveries in small steps. */
  delete(id: string, deletedAt: number, beside?: WrittenBeside): Promise<void>;
  /**
   * All webhooks that are not deleted, in order of creation, one page at a time (`after` is the last ID of the previous
   * page).
   */
  page(after: string | null, limit: number): Promise<readonly StoredWebhook[]>;
  /** Which of these webhooks exist and are not deleted, in any order. */
  some(ids: readonly string[]): Promise<readonly StoredWebhook[]>;
  /** History of a webhook, newest first. A limited number of entries is kept until the webhook is deleted. */
  history(query: WebhookHistoryQuery): Promise<Page<StoredHistoryEntry>>;
  /** Replaces the asymmetric keys of a tenant, which its webhooks share (TS16-73). */
  saveTenantKeys(tenantId: string, keys: readonly StoredSecret[]): Promise<void>;
  tenantKeys(tenantId: string): Promise<readonly StoredSecret[]>;
  /** The webhook that uses a secret with this digest, or null. Prevents the reuse of secrets (TS16-74). */
  findBySecretDigest(
    digest: string,
  ): Promise<{ readonly webhookId: string; readonly tenantId: string } | null>;
  /** Whether the store contains any secret of a webhook or a tenant. */
  hasSecrets(): Promise<boolean>;
  /** IDs of deleted webhooks that still have waiting deliveries for upkeep to cancel. */
  deletedWithWork(): Promise<readonly string[]>;
}

/** The audit row and the operational events that are written with a change. */
export interface WrittenBeside {
  readonly audit?: AuditEntry | undefined;
  readonly events?: readonly OperationalEvent[];
}

/** The rows that are written with a saved change. */
export interface SavedBeside extends Omit<WrittenBeside, "events"> {
  /** Replaces all signing keys and credentials of the webhook. If omitted, the existing ones are kept. */
  readonly secrets?: readonly StoredSecret[];
  /**
   * If this is a function, it is called with the saved webhook, including its revision. It may be called more than
   * once.
   */
  readonly events?: WrittenBeside["events"] | ((saved: Webhook) => readonly OperationalEvent[]);
}

/** Selects the history of one webhook: all entries, or only configuration revisions. */
export interface WebhookHistoryQuery {
  readonly webhookId: string;
  readonly revisionsOnly: boolean;
  readonly page: PageRequest;
}

/** An entry with its position in the listing. */
export interface StoredHistoryEntry extends WebhookHistoryEntry {
  readonly position: number;
}

/** A webhook with its keys. `runtime` is null until the first failure or success has been written. */
export interface StoredWebhook {
  readonly webhook: Webhook;
  readonly secrets: readonly StoredSecret[];
  readonly runtime: WebhookRuntimeState | null;
}

/**
 * `symmetric` signs `v1`, `x-webhook-v1` and `rfc9421-hmac-sha256`; `ed25519` signs `v1a` and `rfc9421-ed25519`. All
 * other kinds are credentials: a bearer token, an OAuth 2.0 client secret, a JSON object of header names and values, a
 * JSON object `{certificatePem, privateKeyPem}`.
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
  /** Keyed digest of the plain text, used only to check equality. */
  readonly digest: string;
  readonly createdAt: number;
  /** Set for the old key of a graceful rotation. The key is not used after this time. */
  readonly expiresAt: number | null;
}
