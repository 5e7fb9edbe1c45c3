import { parseLossless } from "../domain/json/lossless.ts";
import {
  revisionAfter,
  webhookHistory,
  type WebhookHistoryEntry,
  type WebhookKeyName,
} from "../domain/webhook-history.ts";
import type { Webhook } from "../domain/webhook.ts";
import type { SavedBeside, SecretKind, StoredSecret, WrittenBeside } from "../ports/store/webhooks.ts";

export type StoredKey = Pick<StoredSecret, "kind" | "digest">;

interface WebhookChange {
  readonly saved: Webhook;
  readonly entries: readonly WebhookHistoryEntry[];
  readonly beside: WrittenBeside;
}

/** The webhook to store, with its revision, and the history entry of the change. */
export function webhookChange(
  given: Webhook,
  /** Null for a new webhook. */ document: string | null,
  keys: readonly StoredKey[],
  { secrets, audit, events }: SavedBeside,
): WebhookChange {
  const before = document === null ? null : (parseLossless(document) as Webhook);
  const changedKeys = secrets === undefined ? [] : changedNames(keys, secrets);
  const keysChanged = changedKeys.length > 0;
  const saved = { ...given, revision: revisionAfter(given, before, keysChanged) };
  const of = { keys: changedKeys, at: audit?.at ?? given.updatedAt, by: audit?.actor ?? null };
  const told = typeof events === "function" ? events(saved) : (events ?? []);
  return { saved, entries: webhookHistory(before, saved, of), beside: { audit, events: told } };
}

const keyNames: Readonly<Record<SecretKind, WebhookKeyName>> = {
  symmetric: "secret",
  ed25519: "secret",
  bearer: "bearer_token",
  oauth2_client_secret: "oauth2.client_secret",
  credential_headers: "credential_headers",
  client_certificate: "client_certificate",
};

function changedNames(before: readonly StoredKey[], after: readonly StoredKey[]): readonly WebhookKeyName[] {
  const ofKind = (keys: readonly StoredKey[], kind: string): string =>
    keys.flatMap((key) => (key.kind === kind ? [key.digest] : [])).join();
  const kinds = Object.keys(keyNames) as SecretKind[];
  const changed = kinds.filter((kind) => ofKind(before, kind) !== ofKind(after, kind));
  return [...new Set(changed.map((kind) => keyNames[kind]))];
}

export function historyDocument(entry: WebhookHistoryEntry): string {
  return JSON.stringify(entry, (_, value: unknown) =>
    typeof value === "string" && value.length > valueLengthMax
      ? `${value.slice(0, valueLengthMax)}… (${value.length} characters)`
      : value,
  );
}

/** Limit per webhook on stored revisions, and on other entries. */
export const historyEntriesMax = 100;
const valueLengthMax = 1_024;
