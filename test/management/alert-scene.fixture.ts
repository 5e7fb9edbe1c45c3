/** Evaluates alerts and reads the notifications about them. */
import type { NotificationChannel } from "../../src/features/notifications/notification.ts";
import type { AlertView } from "../../src/features/alerts/alert-service.ts";
import { admin, type World } from "./world.fixture.ts";

export const minute = 60_000;
const page = { limit: 50, before: null, offset: 0 };

export async function alertsOf(world: World, rule: string): Promise<readonly AlertView[]> {
  const { alerts } = world.services;
  return (await alerts.list(admin, { states: null, rule, tenantId: null, page })).rows;
}

export async function stateOf(world: World, rule: string): Promise<string | null> {
  return (await alertsOf(world, rule))[0]?.alert.state ?? null;
}

/**
 * Counts and stores all readings of every server that uses the store. Without this step, readings would be stale after
 * time was skipped, and would cause a separate alert.
 */
export async function counted(world: World): Promise<void> {
  await world.until(async () => {
    const progress = await world.store.statistics.progress();
    return progress?.unwrittenSince === null;
  });
}

/** Evaluates the rules once, after everything that has happened so far is counted. */
export async function look(world: World): Promise<void> {
  await counted(world);
  await world.services.lifecycle.lookAtAlerts();
}

/** Called after the cause has ended. Skips the time for which the alert would keep firing, then evaluates the rules. */
export async function calm(world: World, minutes = 2): Promise<void> {
  world.skipTime(minutes * minute);
  await look(world);
}

export async function channelFor(
  world: Pick<World, "store">,
  tenantId: string | null,
): Promise<NotificationChannel> {
  const channel: NotificationChannel = {
    id: `channel-${tenantId ?? "operator"}`,
    tenantId,
    kind: "email",
    name: "Ada",
    address: "ada@example.com",
    webhookId: null,
    sealedKey: null,
    topics: ["alert"],
    frequency: "immediate",
    timeZone: "UTC",
    webhookIds: null,
    quietHours: null,
    language: "en",
    enabled: true,
    createdAt: 0,
    updatedAt: 0,
  };
  const { notifications } = world.store;
  await notifications.saveChannels({ tenantId, channels: [channel] });
  // An email address of a tenant must be confirmed by its reader. An operator's address needs no confirmation.
  const address = "ada@example.com";
  await notifications.rememberAddresses(tenantId, [{ id: `address-${channel.id}`, address, createdAt: 0 }]);
  const consent = (await notifications.consents(tenantId, [address])).get(address);
  if (consent !== undefined) await notifications.saveConsent(consent.id, 0, true);
  return channel;
}

export async function subjectsTold(
  world: Pick<World, "store">,
  tenantId: string | null = null,
): Promise<readonly string[]> {
  const query = { tenantId, channelId: null, state: null, page };
  const told = await world.store.notifications.list(query);
  return (told?.rows ?? []).map(({ content }) => content.subject).toReversed();
}
