import type { Webhook } from "./webhook.ts";

/** What belongs to the state of a webhook, or to its record, and is no configuration. */
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

/** What people configure of a webhook. Holds no secret: those are kept apart. */
export type ConfigurationField = Exclude<keyof Webhook, (typeof unconfigured)[number]>;

/** Fields that differ, with what they were and are; all of them where nothing was before. */
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

/** The number of the configuration after a change. */
export function revisionAfter(
  webhook: Webhook,
  { before, keysChanged = false }: { readonly before: Webhook | null; readonly keysChanged?: boolean },
): number {
  if (before === null) return 1;
  const isChanged = keysChanged || Object.keys(configurationChanges(before, webhook)).length > 0;
  return before.revision + (isChanged ? 1 : 0);
}

/** As JSON, with the members of objects in one order: what a store gives back may have another. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : inner,
  );
}
