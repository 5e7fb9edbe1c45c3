import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "redis";
import { isCut, stopsFor, vanishesFor } from "./companion-outages.fixture.ts";
import { Rig } from "./rig.fixture.ts";

const awayMs = 60_000;
/** Calls wait for Redis only briefly. */
const slowerMsMax = 10_000;
const connectedMsMax = 30_000;

test("Redis outages under load", async (t) => {
  const rig = await Rig.open(t, { distributed: true });
  const { deployment } = rig;
  const { server: redis } = deployment.redis;
  const companion = { ...deployment.redis, rig, complaint: "shared_state_unavailable", connectedMsMax };

  await t.test("a flush", async (t) => {
    await rig.during(t, {
      happens: async () => {
        assert.ok((await flush(redis.url)) > 0, "there was nothing in it");
      },
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
  });

  await t.test("WDS-206 an outage of 60 s: the API reports it and still accepts events", async (t) => {
    await rig.during(t, {
      happens: () => stopsFor(awayMs, companion),
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
    assert.equal(rig.publisher.retries, 0, "the API refused events");
  });

  await t.test("the network between one worker and Redis is cut", async (t) => {
    await rig.during(t, {
      happens: () => isCut(companion),
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
  });

  await t.test("packets between one worker and Redis are dropped, then delayed", async (t) => {
    await rig.during(t, {
      happens: () => vanishesFor(5_000, companion),
      standstillMsMax: slowerMsMax,
      duplicatesMax: 0,
    });
  });
});

/** Returns the number of deleted keys. */
async function flush(url: string): Promise<number> {
  const client = await createClient({ url }).connect();
  const count = await client.dbSize();
  await client.flushAll();
  await client.close();
  return count;
}
