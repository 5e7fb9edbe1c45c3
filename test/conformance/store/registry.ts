import assert from "node:assert/strict";
import type { ApiKey, EventType, Tenant } from "../../../src/ports/store/registry.ts";
import { start } from "./scene.ts";
import type { StoreTheme } from "./suite.ts";

const tenant: Tenant = {
  id: "acme",
  name: "Acme",
  rateLimit: { requestsPerMinute: 1_000, burst: 10 },
  webhooksMax: 5,
  workerPool: "default",
  notificationTargets: [{ kind: "email", address: "ops@example.com" }],
  createdAt: start,
  updatedAt: start,
};
const key: ApiKey = {
  id: "key-1",
  name: "ci",
  hash: "hash",
  hint: "abcd",
  role: "publish",
  tenantId: "acme",
  createdAt: start,
  expiresAt: start + 1,
};
const eventType: EventType = {
  tenantId: "acme",
  name: "order.created",
  description: "An order",
  schema: { type: "object", required: ["id"] },
  examples: [{ id: 1 }],
  deprecated: false,
  createdAt: start,
  updatedAt: start,
};

export const registry: StoreTheme = (check) => {
  check("tenants are saved, replaced and listed", async (store) => {
    await store.registry.saveTenant(tenant);
    const other: Tenant = { ...tenant, id: "beta", rateLimit: null, webhooksMax: null, workerPool: "large" };
    await store.registry.saveTenant(other);
    await store.registry.saveTenant({ ...tenant, name: "Acme Inc" });
    assert.deepEqual(await store.registry.tenants(), [{ ...tenant, name: "Acme Inc" }, other]);
  });

  check("API keys are saved, replaced, listed and deleted", async (store) => {
    const admin: ApiKey = { ...key, id: "key-2", role: "admin", tenantId: null, expiresAt: null };
    await store.registry.saveApiKey(key);
    await store.registry.saveApiKey(admin);
    await store.registry.saveApiKey({ ...key, name: "cd" });
    assert.deepEqual(await store.registry.apiKeys(), [{ ...key, name: "cd" }, admin]);
    assert.equal(await store.registry.deleteApiKey("key-1"), true);
    assert.equal(await store.registry.deleteApiKey("key-1"), false);
    assert.deepEqual(await store.registry.apiKeys(), [admin]);
  });

  check("event types belong to a tenant", async (store) => {
    const other: EventType = { ...eventType, tenantId: "beta", schema: null };
    await store.registry.saveEventType(eventType);
    await store.registry.saveEventType(other);
    await store.registry.saveEventType({ ...eventType, deprecated: true });
    assert.deepEqual(await store.registry.eventTypes(), [{ ...eventType, deprecated: true }, other]);
    const query = { tenantId: "beta", name: "order.created" };
    assert.equal(await store.registry.deleteEventType(query), true);
    assert.equal(await store.registry.deleteEventType(query), false);
    assert.equal((await store.registry.eventTypes()).length, 1);
  });
};
