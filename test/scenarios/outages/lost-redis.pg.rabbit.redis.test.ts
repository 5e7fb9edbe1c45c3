import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "redis";
import { Rig } from "./rig.ts";

const awayMs = 60_000;
/** Nobody waits for Redis for longer than a moment. */
const slowerMsMax = 10_000;
const connectedMsMax = 30_000;

test("Redis goes away under load", async (t) => {
  const rig = await Rig.open(t, { distributed: true });
  const { deployment } = rig;
  const { server: redis, way } = deployment.redis;
  const [api] = deployment.apis;
  assert.ok(api !== undefined);

  await t.test("it is flushed", async (t) => {
    await rig.during(t, {
      happens: async () => {
        assert.ok((await flush(redis.url)) > 0, "there was nothing in it");
      },
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
  });

  await t.test("WDS-206 it is away for 60 s: the API says so and accepts all the same", async (t) => {
    await rig.during(t, {
      happens: async () => {
        await redis.stop();
        await sleep(awayMs);
        const complaints = await api.complaints();
        const ready = await fetch(`${api.url}/readyz`);
        await redis.start();
        assert.deepEqual(complaints, ["api 1: shared_state_unavailable"]);
        assert.equal(ready.status, 200);
        await deployment.untilSound(connectedMsMax);
      },
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
    assert.equal(rig.publisher.retries, 0, "the API refused events");
  });

  await t.test("the network between one worker and Redis is cut", async (t) => {
    await rig.during(t, {
      happens: async () => {
        await way.cut();
        await sleep(5_000);
        await way.restore();
        await deployment.untilSound(connectedMsMax);
      },
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
  });

  await t.test("packets between one worker and Redis vanish, then are late", async (t) => {
    await rig.during(t, {
      happens: async () => {
        way.stall();
        await sleep(5_000);
        await way.restore();
        way.delay(50);
        await sleep(3_000);
        await way.restore();
        await deployment.untilSound(connectedMsMax);
      },
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
  });
});

/** Returns how many keys there were. */
async function flush(url: string): Promise<number> {
  const client = await createClient({ url }).connect();
  const count = await client.dbSize();
  await client.flushAll();
  await client.close();
  return count;
}
