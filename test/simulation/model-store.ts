import type { Store } from "../../src/ports/store.ts";
import { ModelDeliveries } from "./model-store/deliveries.ts";
import { ModelHistory } from "./model-store/history.ts";
import { ModelGateway } from "./model-store/gateway.ts";
import { ModelPortal } from "./model-store/portal.ts";
import { noAlerts, noNotifications, noProblems, noStatistics } from "./model-store/quiet-parts.ts";
import { Rows } from "./model-store/rows.ts";
import { ModelAudit, ModelIdempotency, ModelOperations, ModelRegistry } from "./model-store/tables.ts";
import { ModelUpkeep } from "./model-store/upkeep.ts";
import { ModelWebhooks } from "./model-store/webhooks.ts";

/**
 * Changes to the state after a restart, as with the embedded store: all committed data is kept, and all leases are
 * lost.
 */
export interface ModelStore extends Store {
  restart(): void;
}

/**
 * The Store port in memory, without optimizations. It is the reference for other stores and the store of simulated
 * worlds. It is deterministic, and every method takes effect within the call.
 */
export function createModelStore(): ModelStore {
  const rows = new Rows();
  const registry = new ModelRegistry();
  const idempotency = new ModelIdempotency();
  const gateway = new ModelGateway();
  return {
    deliveries: new ModelDeliveries(rows, gateway),
    history: new ModelHistory(rows),
    webhooks: new ModelWebhooks(rows),
    registry,
    idempotency,
    operations: new ModelOperations(),
    audit: new ModelAudit(),
    portal: new ModelPortal(),
    gateway,
    alerts: noAlerts,
    notifications: noNotifications,
    statistics: noStatistics,
    problems: noProblems,
    upkeep: new ModelUpkeep(rows, (now) => registry.forgetExpired(now) + idempotency.forgetExpired(now)),
    facts: async () => ({ schemaVersion: 1, sizeBytes: 0 }),
    ping: async () => undefined,
    close: async () => undefined,
    restart: () => {
      for (const row of rows.waiting()) row.lease = null;
    },
  };
}
