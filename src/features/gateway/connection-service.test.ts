import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelGateway } from "../../../test/simulation/model-store/gateway.ts";
import type { Connection } from "./source.ts";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import { GatewayDirectory } from "./gateway-directory.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import { Connections } from "./connection-service.ts";

const connectionOf = (tenantId: string): Connection => ({
  id: `of ${tenantId}`,
  tenantId,
  sourceId: "s",
  webhookId: "w",
  name: "",
  required: true,
  pausedAt: null,
  releasingSince: null,
  filter: null,
  delayMs: 0,
  deduplicate: null,
  retryDelaysMs: null,
  allowChain: false,
  createdAt: 0,
  updatedAt: 0,
});

/** A store in which queries for one tenant's connections never complete. */
class HangingStore extends ModelGateway {
  hangingTenant = "";

  override saveConnection(connection: Connection): Promise<void> {
    if (connection.tenantId !== this.hangingTenant) return super.saveConnection(connection);
    return new Promise(() => undefined);
  }
}

test("a slow change of one connection does not delay those of other tenants", async () => {
  const store = new HangingStore();
  for (const tenantId of ["slow", "quick"]) await store.saveConnection(connectionOf(tenantId));
  const directory = new GatewayDirectory(store);
  await directory.load();
  store.hangingTenant = "slow";
  const connections = new Connections({
    store,
    directory,
    access: {} as never,
    clock: new ManualClock(),
    ownAddresses: { includes: async () => false },
    held: { release: () => undefined, counts: async () => new Map() },
    changes: new KeyedQueue(),
  });
  const rename = (tenantId: string) => connections.update({ tenantId }, `of ${tenantId}`, { name: "new" });
  void rename("slow");
  assert.equal((await rename("quick")).name, "new");
});
