import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import type { EventType, RegistryStore } from "../../ports/store/registry.ts";
import type { SchemaCompiler } from "../../ports/schema-compiler.ts";
import type { TenantDirectory } from "../tenants/tenant-service.ts";
import { EventTypes } from "./event-type-service.ts";
import type { SchemaRegistry } from "./schema-registry.ts";

test("an event type is read by its tenant and name alone, however many others there are", async () => {
  const asked: unknown[] = [];
  const stored = { tenantId: "acme", name: "order.paid" } as EventType;
  const types = new EventTypes({
    // Any other query would fail.
    registry: {
      eventType: async (key) => {
        asked.push(key);
        return stored;
      },
    } as Pick<RegistryStore, "eventType"> as RegistryStore,
    compiler: {} as SchemaCompiler,
    schemas: {} as SchemaRegistry,
    clock: new ManualClock(),
    tenants: { has: () => true } as Partial<TenantDirectory> as TenantDirectory,
  });
  assert.equal(await types.get({ tenantId: "acme" }, { tenantId: null, name: "order.paid" }), stored);
  assert.deepEqual(asked, [{ tenantId: "acme", name: "order.paid" }]);
});
