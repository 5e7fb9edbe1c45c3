import { randomUUID } from "node:crypto";
import { createClient } from "redis";
import { createRedisDeduplicationStore } from "../../../src/receiver/stores/redis.ts";
import { deduplicationConformance } from "./suite.ts";

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
