import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { startReceiver } from "../peers/receiver.ts";
import type { Receiver } from "../peers/receiver.ts";
import { openEngineWorld } from "./engine-world.fixture.ts";
import type { EngineWorld } from "./engine-world.fixture.ts";

/** Requests hang for half a minute. In these tests, other requests wait much less than that. */
const crowdSize = 30;
const limits = { concurrency: 20 };

describe("fairness by tenant", () => {
  let world: EngineWorld;
  let crowd: Receiver;
  let small: Receiver;
  let hanging: number;
  let crowdHangs: boolean;

  beforeEach(async () => {
    world = await openEngineWorld({ limits });
    crowd = await startReceiver({ record: false });
    small = await startReceiver();
    hanging = 0;
    crowdHangs = false;
    crowd.script(() => {
      if (!crowdHangs) return {};
      hanging += 1;
      return "hang";
    });
    small.script(({ path }) => ({ delayMs: path === "/slow" ? 1_200 : 0 }));
    for (let n = 0; n < crowdSize; n += 1)
      await world.addWebhook({ tenantId: "crowd", url: crowd.url(`/${n}`), events: ["c.*"] });
    for (const path of ["quick", "slow", "new"])
      await world.addWebhook({ tenantId: "small", url: small.url(`/${path}`), events: [path] });
  });
  afterEach(async () => {
    // The receivers are closed first, so that no request hangs while the world stops.
    await crowd.close();
    await small.close();
    await world.close();
  });

  const publish = (tenantId: string, eventType: string): Promise<string> =>
    world.publish(tenantId, { eventType, data: { n: 1 } });

  /** Endpoints of each kind of the small tenant get a request before any request of the large tenant has ended. */
  async function assertServed(): Promise<void> {
    const before = small.requestCount;
    for (const path of ["quick", "slow", "new"]) await publish("small", path);
    await small.waitUntil(() => small.requestCount === before + 3);
    // Requests that wait for more than a second cost only a socket, so the large tenant may have more of them than
    // there are active slots.
    assert.ok(hanging > 0, "the crowd still hangs");
  }

  test("WDS-27 a tenant whose responding endpoints all start to hang leaves slots to others", async () => {
    for (const path of ["quick", "slow"]) await publish("small", path);
    await publish("crowd", "c.a");
    await crowd.waitForRequests(crowdSize);
    await small.waitForRequests(2);
    crowdHangs = true;
    for (let n = 0; n < 3; n += 1) await publish("crowd", "c.a");
    await crowd.waitUntil(() => hanging >= 10);
    await assertServed();
  });

  test("WDS-27 endpoints of a tenant that never responded leave slots to others, even after a restart", async () => {
    for (const path of ["quick", "slow"]) await publish("small", path);
    await small.waitForRequests(2);
    await world.reopen({ delivers: false });
    crowdHangs = true;
    for (let n = 0; n < 3; n += 1) await publish("crowd", "c.a");
    await world.reopen({ limits });
    await crowd.waitUntil(() => hanging >= 5);
    await assertServed();
  });
});
