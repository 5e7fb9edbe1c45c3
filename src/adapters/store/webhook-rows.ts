import { webhookFromDocument } from "../../core/webhook.ts";
import type { WebhookRuntimeState } from "../../ports/store/deliveries.ts";
import type { StoredSecret, StoredWebhook } from "../../ports/store/webhooks.ts";

/** Whose a row of the table of secrets is; part of the stored form. */
export const secretOwners = { webhook: 0, tenant: 1 } as const;

/** The owner of some secrets. */
export interface SecretOwner {
  readonly kind: (typeof secretOwners)[keyof typeof secretOwners];
  readonly id: string;
}

/** A secret as both stores select it. */
export type SecretRow = [
  kind: StoredSecret["kind"],
  ciphertext: Uint8Array,
  digest: string,
  createdAt: number,
  expiresAt: number | null,
];

/** A webhook with what is remembered of its endpoint, as both stores select it; `stateOf` is null without any. */
export type WebhookRow = [
  id: string,
  document: string,
  stateOf: string | null,
  pausedUntil: number | null,
  pauseReason: string | null,
  lastSuccessAt: number | null,
  circuit: string | null,
  health: string | null,
];

/** A secret as the port shows it; a row may say more behind it. */
export function toSecret([kind, ciphertext, digest, createdAt, expiresAt]: readonly [
  ...SecretRow,
  ...unknown[],
]): StoredSecret {
  return { kind, ciphertext, digest, createdAt, expiresAt };
}

/** A webhook as the port shows it. */
export function toStoredWebhook(row: WebhookRow, secrets: readonly StoredSecret[]): StoredWebhook {
  return { webhook: webhookFromDocument(JSON.parse(row[1])), secrets, runtime: toRuntimeState(row) };
}

/** What is remembered of a webhook between restarts; null when nothing is. */
function toRuntimeState(row: WebhookRow): WebhookRuntimeState | null {
  if (row[2] === null) return null;
  return {
    webhookId: row[0],
    pausedUntil: row[3],
    pauseReason: row[4],
    lastSuccessAt: row[5],
    circuit: row[6],
    health: row[7],
  };
}
