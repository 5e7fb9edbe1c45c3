import type { AuditEntry } from "./audit.ts";
import type { OperationalEvent } from "../../core/notifications/operational-event.ts";
import type { Webhook } from "../../core/webhook.ts";
import type { WebhookRuntimeState } from "./deliveries.ts";

/** Webhooks, their secrets and what is remembered of their endpoints. Small data, read whole at start. */
export interface WebhookStore {
  /**
   * Creates or replaces. Replacing bumps nothing by itself: `updatedAt` is the caller's. A deleted one stays deleted. The
   * row of the audit log and the events are written in the same transaction, as with `delete`.
   */
  save(webhook: Webhook, beside?: WrittenBeside): Promise<void>;
  /** Marks it deleted and wipes its secrets; its waiting deliveries are cancelled by upkeep in small steps. */
  delete(query: { readonly id: string; readonly deletedAt: number }, beside?: WrittenBeside): Promise<void>;
  /** All that are not deleted, in order of creation, a page at a time (`after` is the last id of the page before). */
  page(query: { readonly after: string | null; readonly limit: number }): Promise<readonly StoredWebhook[]>;
  /** Those of these that exist and are not deleted, in any order. */
  some(ids: readonly string[]): Promise<readonly StoredWebhook[]>;
  /** Replaces the signing keys of a webhook. */
  saveSecrets(command: {
    readonly webhookId: string;
    readonly secrets: readonly StoredSecret[];
  }): Promise<void>;
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
