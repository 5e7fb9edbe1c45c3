import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { createClient } from "redis";
import { createRedisDeduplicationStore } from "../../../src/receiver/stores/redis.ts";
import { deduplicationConformance } from "./deduplication.suite.ts";

const url = process.env["POSTHORN_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379";

deduplicationConformance({
  name: "redis",
  open: async () => {
    const prefix = `posthorn-receiver-test:${randomUUID()}:`;
    const clients = [createClient({ url }), createClient({ url })];
    await Promise.all(clients.map((client) => client.connect()));
    const [store, elsewhere] = clients.map((client) => createRedisDeduplicationStore(client, { prefix }));
    return {
      store: store!,
      elsewhere: elsewhere!,
      cleanup: async () => {
        const keys = await clients[0]!.keys(`${prefix}*`);
        if (keys.length > 0) await clients[0]!.del(keys);
        await Promise.all(clients.map((client) => client.close()));
      },
    };
  },
});

test("Redis removes claims and results automatically, each after its time", async (t) => {
  const prefix = `posthorn-receiver-test:${randomUUID()}:`;
  const client = createClient({ url });
  await client.connect();
  t.after(async () => {
    await client.del(`${prefix}aa`);
    await client.close();
  });
  const store = createRedisDeduplicationStore(client, { prefix });
  // A time that differs greatly from that of Redis. Only durations may matter.
  const now = 1_000;
  const claim = { key: "aa", fingerprint: "f", token: "t", now, expiresAt: now + 60_000 };
  const remainingMs = () => client.pTTL(`${prefix}aa`);

  await store.claim(claim);
  assert.ok((await remainingMs()) > 50_000 && (await remainingMs()) <= 60_000);
  await store.finish({ ...claim, result: "", expiresAt: now + 600_000 });
  assert.ok((await remainingMs()) > 590_000 && (await remainingMs()) <= 600_000);
});
