import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailableError } from "../../src/ports/store.ts";
import { startReceiver } from "../peers/receiver.ts";
import { openEngineWorld } from "./engine-world.fixture.ts";

test("WDS-196 an engine stops completely if requests in flight cannot be released, and they are sent again", async (t) => {
  const world = await openEngineWorld();
  t.after(() => world.close());
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  receiver.script((_, index) => (index === 0 ? { delayMs: 1_000 } : {}));
  await world.addWebhook({ url: receiver.url("/"), events: ["order.paid"] });
  await world.publish("default", { eventType: "order.paid", data: { n: 1 } });
  await receiver.waitForRequests(1);
  Object.assign(world.store.deliveries, {
    release: () => Promise.reject(new StoreUnavailableError("the database cannot be reached")),
  });

  await world.engine.stop(50);
  assert.deepEqual(
    world.logged.map(({ level }) => level),
    ["warn"],
  );

  await world.reopen();
  await receiver.waitForRequests(2);
});
