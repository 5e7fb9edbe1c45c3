import type { Webhook } from "./webhook.ts";

/** Fields that are state or metadata of a webhook, not configuration. */
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
export type ConfigurationField = Exclude<keyof Webhook, (typeof unconfigured)[number]>;

/** Changed fields with their old and new values; all fields if there was no previous webhook. */
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

/** JSON with object members in a fixed order, because a store may return them in another order. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : inner,
  );
}
