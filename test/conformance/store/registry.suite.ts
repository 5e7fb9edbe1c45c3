import assert from "node:assert/strict";
import type { ApiKey, EventType, EventTypeQuery, Tenant } from "../../../src/ports/store/registry.ts";
import { start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const tenant: Tenant = {
  id: "acme",
  name: "Acme",
  rateLimit: { requestsPerMinute: 1_000, burst: 10 },
  webhooksMax: 5,
  workerPool: "default",
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

const everything: EventTypeQuery = {
  tenantId: null,
  after: null,
  offset: 0,
  limit: 100,
  bytesMax: 1_000_000,
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
    assert.deepEqual(await store.registry.eventTypePage(everything), {
      rows: [{ ...eventType, deprecated: true }, other],
      next: null,
    });
    const key = { tenantId: "beta", name: "order.created" };
    assert.deepEqual(await store.registry.eventType(key), other);
    assert.deepEqual(await store.registry.eventTypePage({ ...everything, tenantId: "beta" }), {
      rows: [other],
      next: null,
    });
    assert.equal(await store.registry.deleteEventType(key), true);
    assert.equal(await store.registry.deleteEventType(key), false);
    assert.equal(await store.registry.eventType(key), null);
    assert.equal((await store.registry.eventTypePage(everything)).rows.length, 1);
  });

  check(
    "a page of event types ends at its row or byte limit, and continues after a deleted type",
    async (store) => {
      const sized = (
        tenantId: string,
        at: { readonly index: number; readonly bytes: number },
      ): EventType => ({
        ...eventType,
        tenantId,
        name: `type${at.index}`,
        description: "ä".repeat(at.bytes / 2),
      });
      for (const tenantId of ["acme", "beta"])
        for (let index = 0; index < 5; index += 1)
          await store.registry.saveEventType(sized(tenantId, { index, bytes: 10_000 }));
      const names = async (query: Partial<EventTypeQuery>) => {
        const { rows, next } = await store.registry.eventTypePage({ ...everything, ...query });
        return { names: rows.map(({ tenantId, name }) => `${tenantId} ${name}`), next };
      };
      const acme = (name: string) => ({ tenantId: "acme", name });
      const first = { names: ["acme type0", "acme type1"], next: acme("type1") };
      assert.deepEqual(await names({ limit: 2 }), first);
      assert.deepEqual(
        await names({ bytesMax: 15_000 }),
        first,
        "the one that exceeds the bytes is the last",
      );
      assert.deepEqual((await names({ bytesMax: 1 })).names, ["acme type0"], "never without a row");
      await store.registry.deleteEventType(acme("type1"));
      assert.deepEqual(await names({ tenantId: "acme", after: acme("type1"), offset: 1 }), {
        names: ["acme type3", "acme type4"],
        next: null,
      });
      assert.deepEqual((await names({ after: acme("type4"), limit: 1 })).names, ["beta type0"]);
      const usage = await store.registry.eventTypeUsage("acme");
      assert.equal(usage.count, 4);
      assert.ok(usage.bytes > 40_000 && usage.bytes < 45_000, `${usage.bytes} bytes`);
      assert.deepEqual(await store.registry.eventTypeUsage("nobody"), { count: 0, bytes: 0 });
    },
  );
};
