import { randomUUID } from "node:crypto";
import { createAddressPolicy } from "../../../src/domain/egress/address-policy.ts";
import { Wording } from "../../../src/features/notifications/messages.ts";
import { freshStatus } from "../../../src/features/notifications/notification.ts";
import type { NotificationQueue, StoredChannel } from "../../../src/ports/store/notifications.ts";
import {
  NotificationChannels,
  type NotificationChannelsOptions,
} from "../../../src/features/notifications/notification-channels.ts";
import type { NotificationService, TenantService } from "../../../src/features/services.ts";

/** Channels in an array; their messages are not sent. */
export function createStandInNotifications(given: {
  readonly now: () => number;
  readonly tenants: Pick<TenantService, "get" | "put">;
}): NotificationService {
  let kept: StoredChannel[] = [];
  const queue: Pick<
    NotificationQueue,
    "channels" | "saveChannels" | "saveStatus" | "enqueue" | "list" | "count"
  > = {
    count: async () => 1,
    channels: async () => kept,
    saveChannels: async ({ tenantId, channels }) => {
      const others = kept.filter(({ channel }) => channel.tenantId !== tenantId);
      kept = [...others, ...channels.map((channel) => ({ channel, status: freshStatus, consent: null }))];
    },
    saveStatus: async () => undefined,
    enqueue: async () => undefined,
    list: async () => ({ rows: [], next: null }),
  };
  const carriers = {
    create: async () => ({ view: { webhook: { id: randomUUID() } }, secret: "whsec_c3RhbmQtaW4=" }),
    rotateSecret: async () => ({ secret: "whsec_b3RoZXI=", previous: null }),
    update: async () => undefined,
    enable: async () => undefined,
    delete: async () => undefined,
  };
  return new NotificationChannels({
    queue,
    webhooks: carriers,
    tenants: given.tenants,
    desk: null,
    wording: new Wording(),
    links: { addressOf: () => null, areReachable: true },
    nextId: () => randomUUID(),
    secretBox: { seal: () => new Uint8Array() },
    clock: { now: given.now },
    urlRules: { policy: createAddressPolicy([], false), allowHttp: false },
    sendsMail: false,
  } as unknown as NotificationChannelsOptions);
}
