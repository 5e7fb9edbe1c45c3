/** A clock that was a few seconds ahead must not cause delays after it was corrected. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/system/clock.ts";
import type { Clock } from "../../src/ports/clock.ts";
import { startReceiver } from "../peers/receiver.ts";
import { retrySchedule } from "./engine-scene.fixture.ts";
import { openEngineWorld } from "./engine-world.fixture.ts";

const day = 86_400_000;

test("ordered and unordered webhooks deliver soon after a clock that was a day ahead is set back", async (t) => {
  let aheadMs = day;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + aheadMs,
    // Shortens the delay of ten seconds before repeated checks.
    schedule: (delayMs, callback) => systemClock.schedule(delayMs === 10_000 ? 50 : delayMs, callback),
  };
  const receiver = await startReceiver();
  const world = await openEngineWorld({ clock });
  t.after(async () => {
    await world.close();
    await receiver.close();
  });
  const retry = retrySchedule(1_000, 1_000, 1_000);
  for (const [path, ordering] of [
    ["/ordered", "strict"],
    ["/plain", "none"],
  ] as const)
    await world.addWebhook({ url: receiver.url(path), events: ["order.*"], tenantId: "t", retry, ordering });
  receiver.script(() => (aheadMs > 0 ? { status: 503 } : {}));
  const publish = (n: number) => world.publish("t", { eventType: "order.paid", data: { n } });
  await publish(1);
  await receiver.waitForRequests(2);
  for (let n = 2; n <= 5; n++) await publish(n);
  aheadMs = 0;
  receiver.clear();
  for (let n = 6; n <= 8; n++) await publish(n);
  const bodies = (path: string) =>
    receiver.requests
      .filter((request) => request.path === path)
      .map(({ body }) => (JSON.parse(body.toString()) as { data: { n: number } }).data.n);
  await receiver.waitUntil(
    () => new Set(bodies("/ordered")).size === 8 && new Set(bodies("/plain")).size === 8,
  );
  const order = bodies("/ordered");
  assert.deepEqual(order, [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.ok(world.logged.some(({ level, fields }) => level === "warn" && Number(fields["rows"]) > 0));
});
