import { webhookUrlShown } from "../features/notifications/operational-event.ts";
import { maskedField, maskedParameters } from "./http/request-headers.ts";
import type { AuditActor } from "./scope.ts";
import type { Webhook } from "./webhook.ts";

/** Fields that are state or metadata of a webhook rather than configuration. */
const unconfigured = [
  "id",
  "tenantId",
  "status",
  "statusReason",
  "statusChangedAt",
  "verification",
  "pause",
  "createdAt",
  "updatedAt",
  "revision",
] as const satisfies readonly (keyof Webhook)[];

/** Fields that people configure. Contains no secrets, which are stored separately. */
type ConfigurationField = Exclude<keyof Webhook, (typeof unconfigured)[number]>;

/** Changed fields with their old and new values; all fields if the webhook is new. */
export function configurationChanges(
  before: Webhook | null,
  after: Webhook,
): Partial<Record<ConfigurationField, { readonly from?: unknown; readonly to: unknown }>> {
  const changes: Partial<Record<ConfigurationField, { readonly from?: unknown; readonly to: unknown }>> = {};
  for (const [name, to] of Object.entries(after)) {
    if ((unconfigured as readonly string[]).includes(name)) continue;
    const field = name as ConfigurationField;
    if (before === null) changes[field] = { to };
    else if (plain(before[field]) !== plain(to)) changes[field] = { from: before[field], to };
  }
  return changes;
}

/** The configuration revision after a change. */
export function revisionAfter(
  webhook: Webhook,
  before: Webhook | null,
  keysChanged: boolean = false,
): number {
  if (before === null) return 1;
  const isChanged = keysChanged || Object.keys(configurationChanges(before, webhook)).length > 0;
  return before.revision + (isChanged ? 1 : 0);
}

/** JSON with object members in a fixed order, because a store may return them in a different order. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : inner,
  );
}

/** Kinds of history entries of a webhook. `changed` means a change of its configuration, including its credentials. */
export const webhookHistoryKinds = [
  "created",
  "changed",
  "secret_rotated",
  "paused",
  "resumed",
  "enabled",
  "disabled",
  "suspended",
  "verified",
  "unverified",
  "circuit_opened",
  "circuit_closed",
] as const;
type WebhookHistoryKind = (typeof webhookHistoryKinds)[number];

/** Keys and credentials by API name. Their values are never stored here. */
export type WebhookKeyName =
  | "secret"
  | "bearer_token"
  | "oauth2.client_secret"
  | "credential_headers"
  | "client_certificate";

/** `from` is absent for the first value. Secrets have neither `from` nor `to`. */
interface WebhookFieldChange {
  readonly from?: unknown;
  readonly to?: unknown;
}

/** One entry in the history of a webhook. Times are Unix milliseconds. */
export interface WebhookHistoryEntry {
  readonly at: number;
  readonly kind: WebhookHistoryKind;
  /** Revision that the change created; null if the configuration did not change. */
  readonly revision: number | null;
  /** Null if the change came from Posthorn itself or from a receiver's response. */
  readonly by: Pick<AuditActor, "kind" | "keyName" | "reference"> | null;
  readonly reason: string | null;
  readonly changes: Readonly<Partial<Record<ConfigurationField | WebhookKeyName, WebhookFieldChange>>>;
}

/** The history entries of a change. `after` must already have its new revision. */
export function webhookHistory(
  before: Webhook | null,
  after: Webhook,
  keys: readonly WebhookKeyName[],
  at: number,
  actor: AuditActor | null,
): readonly WebhookHistoryEntry[] {
  const by = actor && { kind: actor.kind, keyName: actor.keyName, reference: actor.reference };
  const entry = (
    kind: WebhookHistoryKind,
    more: Partial<Pick<WebhookHistoryEntry, "revision" | "reason" | "changes">> = {},
  ): WebhookHistoryEntry => ({ at, kind, revision: null, by, reason: null, changes: {}, ...more });
  const configuration = Object.entries(configurationChanges(before, after)).map(([name, change]) => [
    name,
    Object.fromEntries(Object.entries(change).map(([when, value]) => [when, shownValue(name, value, after)])),
  ]);
  const changes = Object.fromEntries([...configuration, ...keys.map((name) => [name, {}])]) as Changes;
  const { revision } = after;
  if (before === null) return [entry("created", { revision, changes })];
  const names = Object.keys(changes);
  const entries: WebhookHistoryEntry[] = [];
  if (names.length > 0) {
    const isRotation = names.every((name) => name === "secret");
    entries.push(entry(isRotation ? "secret_rotated" : "changed", { revision, changes }));
  }
  if (after.pause !== null && JSON.stringify(after.pause) !== JSON.stringify(before.pause))
    entries.push(entry("paused", { reason: after.pause.reason }));
  if (after.pause === null && before.pause !== null) entries.push(entry("resumed"));
  if (after.status !== before.status)
    entries.push(entry(statusKind(before, after), { reason: after.statusReason }));
  return entries;
}

type Changes = WebhookHistoryEntry["changes"];

/** Custom headers and the query of a URL may contain credentials, including ones that are no longer in force. */
function shownValue(name: string, value: unknown, webhook: Webhook): unknown {
  if (name === "url" && typeof value === "string")
    return maskedParameters(webhookUrlShown({ ...webhook, url: value }));
  if (name !== "headers" || typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([header, text]) => [header, maskedField(header, String(text))]),
  );
}

function statusKind(before: Webhook, after: Webhook): WebhookHistoryKind {
  if (after.status !== "active") return after.status;
  return before.status === "unverified" ? "verified" : "enabled";
}
