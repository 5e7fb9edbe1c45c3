import { parseLossless } from "../../core/json/lossless.ts";
import { webhookFromDocument } from "../../core/webhook.ts";
import type { WebhookRuntimeState } from "../../ports/store/deliveries.ts";
import type { StoredSecret, StoredWebhook } from "../../ports/store/webhooks.ts";

/** The owner kinds in the table of secrets; part of the stored format. */
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

/** A webhook with the state of its endpoint, as both stores select it; `stateOf` is null without one. */
export type WebhookRow = [
  id: string,
  document: string,
  ...state: RuntimeRow | [null, null, null, null, null, null],
];

/** The stored state of an endpoint. */
export type RuntimeRow = [
  webhookId: string,
  pausedUntil: number | null,
  pauseReason: string | null,
  lastSuccessAt: number | null,
  circuit: string | null,
  health: string | null,
];

/** A secret as the port shows it; the row may have further columns. */
export function toSecret([kind, ciphertext, digest, createdAt, expiresAt]: readonly [
  ...SecretRow,
  ...unknown[],
]): StoredSecret {
  return { kind, ciphertext, digest, createdAt, expiresAt };
}

/** A webhook as the port shows it. */
export function toStoredWebhook(
  [, document, ...state]: WebhookRow,
  secrets: readonly StoredSecret[],
): StoredWebhook {
  const runtime = state[0] === null ? null : toRuntimeState(state);
  return { webhook: webhookFromDocument(parseLossless(document)), secrets, runtime };
}

/** The state of a webhook that survives restarts. */
export function toRuntimeState([
  webhookId,
  pausedUntil,
  pauseReason,
  lastSuccessAt,
  circuit,
  health,
]: RuntimeRow): WebhookRuntimeState {
  return { webhookId, pausedUntil, pauseReason, lastSuccessAt, circuit, health };
}
