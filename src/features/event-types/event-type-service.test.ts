import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventType } from "../../ports/store/registry.ts";
import type { SchemaCompiler } from "../../ports/schema-compiler.ts";
import type { FeatureContext } from "../services.ts";
import { EventTypes } from "./event-type-service.ts";
import type { SchemaRegistry } from "./schema-registry.ts";

test("an event type is read by its tenant and name alone, however many others there are", async () => {
  const asked: unknown[] = [];
  const stored = { tenantId: "acme", name: "order.paid" } as EventType;
  // Provides only this query; any other would throw.
  const registry = {
    eventType: async (key: unknown) => {
      asked.push(key);
      return stored;
    },
  };
  const context = { store: { registry }, tenants: { has: () => true } } as unknown as FeatureContext;
  const types = new EventTypes(context, {} as SchemaCompiler, {} as SchemaRegistry);
  assert.equal(await types.get({ tenantId: "acme" }, { tenantId: null, name: "order.paid" }), stored);
  assert.deepEqual(asked, [{ tenantId: "acme", name: "order.paid" }]);
});
