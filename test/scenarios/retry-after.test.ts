import assert from "node:assert/strict";
import { test } from "node:test";
import { startReceiver } from "../peers/receiver.ts";
import { openEngineWorld } from "./engine-world.ts";

test("EDS-2-7 EDS-6.3-3 EDS-6.3-4 EDS-9.4-3 EDS-9.5-2 EDS-9.8.2-1 TS16-34 TS16-35 WDS-186 503 with Retry-After: 2, then 200: two requests, not earlier, same id and bytes, fresh signature", async () => {
  const world = await openEngineWorld();
  const receiver = await startReceiver();
  receiver.script((_, index) =>
    index === 0 ? { status: 503, headers: { "Retry-After": "2" } } : { status: 200 },
  );
  const webhook = await world.addWebhook({
    url: receiver.url("/hook"),
    events: ["order.created"],
    retry: {
      schedule: { kind: "list", delaysMs: [50], jitter: { from: 1, to: 1 } },
      ageMsMax: null,
      timeoutMs: null,
      timeoutGrowthFactor: null,
    },
  });
  const eventId = await world.publish("default", { eventType: "order.created", data: { order: 1 } });
  const [first, second] = await receiver.waitForRequests(2);
  assert.ok(first !== undefined && second !== undefined);
  const gapMs = second.arrivedAtMs - first.arrivedAtMs;
  assert.ok(gapMs >= 2_000, `the second request came after ${gapMs} ms`);
  assert.ok(gapMs < 4_000, `the second request came only after ${gapMs} ms`);
  assert.equal(first.headers["webhook-id"], eventId);
  assert.equal(second.headers["webhook-id"], eventId);
  assert.equal(first.headers["idempotency-key"], `"${eventId}"`);
  assert.equal(second.headers["idempotency-key"], `"${eventId}"`);
  assert.deepEqual(second.body, first.body);
  assert.ok(Number(second.headers["webhook-timestamp"]) >= Number(first.headers["webhook-timestamp"]) + 2);
  assert.notEqual(second.headers["webhook-signature"], first.headers["webhook-signature"]);

  // Nothing else comes: a later event is the third request, not a late repeat of the first.
  await world.publish("default", { eventType: "order.created", data: { order: 2 } });
  const third = (await receiver.waitForRequests(3))[2];
  assert.notEqual(third?.headers["webhook-id"], eventId);
  assert.equal(receiver.requestCount, 3);
  assert.equal(webhook.status, "active");
  await world.close();
  await receiver.close();
});
