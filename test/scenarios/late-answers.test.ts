/** Requests whose response arrives after a different actor has ended their delivery, because its lease had expired. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeliveryState } from "../../src/domain/delivery.ts";
import type { StoredDelivery } from "../../src/ports/store/history.ts";
import type { Answer } from "../peers/receiver.ts";
import { engineScene } from "./engine-scene.fixture.ts";
import { eventually } from "./eventually.fixture.ts";

const scene = engineScene();
const dayMs = 86_400_000;

/** A delivery whose request is waiting for a response. */
async function underWay(): Promise<{
  readonly delivery: StoredDelivery;
  readonly answer: (answer: Answer) => void;
}> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  let count = 0;
  scene.receiver.script(() => (count++ === 0 ? promise : {}));
  await scene.addWebhook();
  const eventId = await scene.publish();
  await scene.receiver.waitForRequests(1);
  return { delivery: await scene.deliveryOf(eventId), answer: resolve };
}

/** Expires the delivery like another process whose clock says that the lease has expired. */
async function expire(): Promise<void> {
  const { upkeep } = scene.world.store;
  const now = Date.now() + dayMs;
  await upkeep.expire({ now, limit: 100, ageMsByWebhook: new Map(), ageMsDefault: 1_000 });
}

async function deadLetterCount(): Promise<number> {
  return (await scene.world.store.deliveries.depth()).deadLetters.get(scene.tenantId) ?? 0;
}

async function reaches(id: string, state: DeliveryState, attempts: number): Promise<StoredDelivery> {
  const { history } = scene.world.store;
  const stored = await eventually(`the delivery is ${state}, with ${attempts} attempts`, {
    ask: () => history.getDelivery(null, id),
    holds: (delivery) => delivery?.progress.state === state && delivery.progress.attemptCount === attempts,
  });
  assert.ok(stored !== null);
  assert.equal((await history.listAttempts(id)).length, attempts);
  return stored;
}

test("accepted after it was dead-lettered: a success, and its dead letter is closed", async () => {
  const { delivery, answer } = await underWay();
  await expire();
  await reaches(delivery.id, "exhausted", 0);
  assert.equal(await deadLetterCount(), 1);
  answer({ status: 200 });
  const { progress } = await reaches(delivery.id, "success", 1);
  assert.equal(progress.reason, null);
  assert.equal(await deadLetterCount(), 0);
});

test("refused after it was dead-lettered: the dead letter stays, with the response in its history", async () => {
  const { delivery, answer } = await underWay();
  await expire();
  answer({ status: 503 });
  const { progress } = await reaches(delivery.id, "exhausted", 1);
  assert.equal(progress.reason, "expired");
  assert.equal(await deadLetterCount(), 1);
  assert.equal(scene.receiver.requestCount, 1);
});

test("accepted after a retry: the request of the retry decides, and the delivery counts one attempt", async () => {
  const { delivery, answer } = await underWay();
  await expire();
  await reaches(delivery.id, "exhausted", 0);
  const retried = await scene.world.engine.retry({
    deliveryId: delivery.id,
    lane: delivery.lane,
    format: "standard",
    priority: null,
    retry: { at: Date.now(), by: null, operationId: null },
  });
  assert.equal(retried.kind, "accepted");
  answer({ status: 503 });
  const { retries } = await reaches(delivery.id, "success", 1);
  assert.equal(retries.length, 1);
  assert.equal(scene.receiver.requestCount, 2);
  assert.equal(await deadLetterCount(), 0);
});
