import type { AuditEntry } from "./audit.ts";
import type { OperationalEvent } from "../../core/notifications/operational-event.ts";
import type { Webhook } from "../../core/webhook.ts";
import type { WebhookHistoryEntry } from "../../core/webhook-history.ts";
import type { Page, PageRequest } from "../store.ts";
import type { WebhookRuntimeState } from "./deliveries.ts";

/** Webhooks, their secrets and what is remembered of their endpoints. Small data, read whole at start. */
export interface WebhookStore {
  /**
   * Creates or replaces, and returns it with its revision, which is numbered here: the next one where its configuration or
   * its keys differ from what is stored. Nothing else is bumped: `updatedAt` is the caller's. A deleted one stays deleted,
   * without keys. Its keys, its history, the row of the audit log and the events are written in the same transaction, as
   * with `delete`.
   */
  save(webhook: Webhook, beside?: SavedBeside): Promise<Webhook>;
  /** Marks it deleted and wipes its secrets; its waiting deliveries are cancelled by upkeep in small steps. */
  delete(query: { readonly id: string; readonly deletedAt: number }, beside?: WrittenBeside): Promise<void>;
  /** All that are not deleted, in order of creation, a page at a time (`after` is the last id of the page before). */
  page(query: { readonly after: string | null; readonly limit: number }): Promise<readonly StoredWebhook[]>;
  /** Those of these that exist and are not deleted, in any order. */
  some(ids: readonly string[]): Promise<readonly StoredWebhook[]>;
  /** What happened to a webhook, newest first; of each webhook a bounded number is kept, until it is deleted. */
  history(query: WebhookHistoryQuery): Promise<Page<StoredHistoryEntry>>;
  /** Replaces the asymmetric keys of a tenant, which its webhooks share (TS16-73). */
  saveTenantKeys(command: {
    readonly tenantId: string;
    readonly keys: readonly StoredSecret[];
  }): Promise<void>;
  tenantKeys(tenantId: string): Promise<readonly StoredSecret[]>;
  /** The webhook that uses a secret with this digest, to refuse reuse (TS16-74); null when it is free. */
  findBySecretDigest(
    digest: string,
  ): Promise<{ readonly webhookId: string; readonly tenantId: string } | null>;
  /** Whether any secret is stored, of a webhook or of a tenant. */
  hasSecrets(): Promise<boolean>;
  /** Ids of deleted webhooks whose waiting deliveries upkeep has not finished cancelling. */
  deletedWithWork(): Promise<readonly string[]>;
}

/** What a change is written down as, and what is told of it. */
export interface WrittenBeside {
  readonly audit?: AuditEntry | undefined;
  readonly events?: readonly OperationalEvent[];
}

/** The same of a change that is saved. */
export interface SavedBeside extends Omit<WrittenBeside, "events"> {
  /** Replace the signing keys and credentials of the webhook as a whole; they stay when left out. */
  readonly secrets?: readonly StoredSecret[];
  /** A function is asked once the webhook has its revision; it may be asked more than once. */
  readonly events?: WrittenBeside["events"] | ((saved: Webhook) => readonly OperationalEvent[]);
}

/** Of one webhook: everything, or revisions of its configuration alone. */
export interface WebhookHistoryQuery {
  readonly webhookId: string;
  readonly revisionsOnly: boolean;
  readonly page: PageRequest;
}

/** With its place in the listing. */
export interface StoredHistoryEntry extends WebhookHistoryEntry {
  readonly position: number;
}

/** A webhook with its keys; `runtime` is null until its first failure or success was written. */
export interface StoredWebhook {
  readonly webhook: Webhook;
  readonly secrets: readonly StoredSecret[];
  readonly runtime: WebhookRuntimeState | null;
}

/**
 * `symmetric` signs `v1`, `x-webhook-v1` and `rfc9421-hmac-sha256`; `ed25519` signs `v1a` and `rfc9421-ed25519`. The
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

/** An encrypted key. The store never sees the plain text. */
export interface StoredSecret {
  readonly kind: SecretKind;
  readonly ciphertext: Uint8Array;
  /** Keyed digest of the plain text, for equality only. */
  readonly digest: string;
  readonly createdAt: number;
  /** Set on the old key of a graceful rotation: no longer used from then on. */
  readonly expiresAt: number | null;
}
