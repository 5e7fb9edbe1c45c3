import { PosthornError } from "../../core/errors.ts";
import { hourOf, instant, type OperationalEvent } from "../../core/notifications/operational-event.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { TenantDirectory } from "../tenants/tenant-directory.ts";

export interface WebhookRoomOptions {
  readonly access: Pick<EngineAccess, "webhooks" | "relay">;
  readonly store: Pick<Store, "notifications">;
  readonly clock: Clock;
  readonly tenants: TenantDirectory;
  /** For tenants without their own limit. */
  readonly webhooksPerTenantMax: number;
}

/** Throws if a tenant has reached its limit of webhooks, and announces that once an hour. */
export async function requireRoom(tenantId: string, options: WebhookRoomOptions): Promise<void> {
  const { access, tenants, webhooksPerTenantMax } = options;
  const limit = tenants.get(tenantId)?.webhooksMax ?? webhooksPerTenantMax;
  let count = 0;
  for (const { webhook } of access.webhooks()) if (webhook.tenantId === tenantId) count += 1;
  if (count < limit) return;
  await options.store.notifications?.appendEvents([limitReached(tenantId, limit, options.clock.now())]);
  access.relay.stored();
  throw new PosthornError(
    "limit_reached",
    `the limit of ${limit} webhooks for a tenant is reached; there are ${count}`,
  );
}

function limitReached(tenantId: string, limit: number, at: number): OperationalEvent {
  const type = "posthorn.tenant.limit_reached";
  return {
    key: `${type}:${tenantId}:webhooks_max:${hourOf(at)}`,
    type,
    tenantId,
    webhookId: null,
    at,
    data: { tenant_id: tenantId, limit: "webhooks_max", value: limit, occurred_at: instant(at) },
  };
}
