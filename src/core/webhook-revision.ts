import type { Webhook } from "./webhook.ts";

/** What belongs to the state of a webhook, or to its record, and is no configuration. */
const unconfigured = [
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
export type WebhookConfiguration = Omit<Webhook, (typeof unconfigured)[number]>;

function configurationOf(webhook: Webhook): WebhookConfiguration {
  const kept = Object.entries(webhook).filter(
    ([name]) => !(unconfigured as readonly string[]).includes(name),
  );
  return Object.fromEntries(kept) as unknown as WebhookConfiguration;
}

/** The webhook with its revision after a change. */
export function revised(
  webhook: Webhook,
  { before, keysChanged = false }: { readonly before: Webhook | null; readonly keysChanged?: boolean },
): Webhook {
  if (before === null) return { ...webhook, revision: 1 };
  const changed =
    keysChanged || JSON.stringify(configurationOf(before)) !== JSON.stringify(configurationOf(webhook));
  return { ...webhook, revision: before.revision + (changed ? 1 : 0) };
}
