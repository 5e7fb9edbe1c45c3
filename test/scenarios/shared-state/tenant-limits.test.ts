import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { SeveralEngines } from "./several-engines.fixture.ts";

const minuteMs = 60_000;

/** Engines with three webhooks each. The engines that have work have enough of it for a minute. */
async function underLoad(given: {
  readonly requestsPerMinute: number;
  readonly burst: number;
  readonly engines: number;
  readonly busy: number;
  readonly forMs: number;
}): Promise<SeveralEngines> {
  const { requestsPerMinute, burst, engines, busy, forMs } = given;
  const several = await SeveralEngines.start({ seed: 1, engines });
  several.limit({ requestsPerMinute, burst });
  const count = Math.ceil((requestsPerMinute * forMs) / minuteMs) + burst;
  for (let engine = 0; engine < busy; engine += 1) {
    for (const eventType of ["a.x", "b.x", "c.x"]) {
      several.addWebhook(engine, { events: [eventType] });
      await several.publish(engine, { eventType, count });
    }
  }
  await several.pass(forMs);
  return several;
}

function requestsBy(several: SeveralEngines, name: "engine" | "webhookId"): number[] {
  const counts = new Map<unknown, number>();
  for (const sent of several.sent) counts.set(sent[name], (counts.get(sent[name]) ?? 0) + 1);
  return [...counts.values()];
}

suite("the limit of a tenant over several workers", () => {
  for (const [requestsPerMinute, burst, busy, seconds] of [
    [600, 20, 4, 60],
    [600, 20, 1, 60],
    [1_000, 1, 4, 60],
    [1_000, 1, 1, 60],
    [60, 1, 4, 120],
    [30_000, 100, 4, 10],
    [30_000, 10, 1, 10],
  ] as const) {
    const name = `${requestsPerMinute} a minute, burst ${burst}, ${busy} of 4 workers busy`;
    test(`WDS-166 never more and within 5 % of it: ${name}`, async () => {
      const forMs = seconds * 1_000;
      const several = await underLoad({ requestsPerMinute, burst, engines: 4, busy, forMs });
      const startMs = several.sent[0]?.atMs ?? 0;
      for (const [index, { atMs }] of several.sent.entries()) {
        // Tokens are drawn shortly before they are used; the first ones are drawn before the first request.
        const allowed = burst + ((atMs - startMs + networkMsMax) * requestsPerMinute) / minuteMs;
        assert.ok(index + 1 <= allowed, `request ${index + 1} after ${atMs - startMs} ms`);
      }
      const possible = (requestsPerMinute * forMs) / minuteMs;
      assert.ok(several.sent.length - burst >= possible * 0.95, `${several.sent.length} of ${possible}`);
      const shares = requestsBy(several, "engine");
      assert.equal(shares.length, busy);
      assert.ok(Math.min(...shares) >= (several.sent.length / busy) * 0.7, `by worker: ${shares.join(", ")}`);
      await several.stop();
    });
  }

  test("a worker that can send nothing more blocks none of the others", async () => {
    const several = await SeveralEngines.start({ seed: 1, engines: 2 });
    several.limit({ requestsPerMinute: 6_000, burst: 50 });
    several.answerMs = (engine) => (engine === 0 ? 20_000 : 5);
    for (const engine of [0, 1]) {
      several.addWebhook(engine, {});
      await several.publish(engine, { eventType: "a.x", count: 6_000 });
    }
    await several.pass(minuteMs);
    assert.ok(several.sent.length >= 6_000 * 0.95, `${several.sent.length} requests`);
    await several.stop();
  });

  test("drawn but unused tokens are available to others a second later, and at once on shutdown", async () => {
    const several = await SeveralEngines.start({ seed: 1, engines: 2 });
    several.limit({ requestsPerMinute: 6_000, burst: 30 });
    several.addWebhook(0, { events: ["a.x"] });
    several.answerMs = () => 20_000;
    await several.publish(0, { eventType: "a.x", count: 30 });
    await several.pass(3_000);
    assert.equal(several.sent.length, 1, "a webhook that has never answered gets one request at a time");
    const bucket = several.memory.buckets.get("default");
    assert.ok(bucket !== undefined && bucket.fullAt <= several.time.now());
    assert.ok(several.calls.some(({ name }) => name === "giveBack"));
    await several.stop();
  });

  test("a tenant without limit costs no call", async () => {
    const several = await SeveralEngines.start({ seed: 1, engines: 1 });
    several.addWebhook(0, {});
    await several.publish(0, { eventType: "a.x", count: 100 });
    await several.pass(5_000);
    assert.equal(several.sent.length, 100);
    assert.deepEqual(several.calls, []);
    await several.stop();
  });

  test("a delivery that waits for it says so, and is counted", async () => {
    const several = await SeveralEngines.start({ seed: 1, engines: 1 });
    several.limit({ requestsPerMinute: 1, burst: 1 });
    const webhookId = several.addWebhook(0, {});
    await several.publish(0, { eventType: "a.x", count: 2 });
    await several.pass(1_000);
    assert.equal(several.sent.length, 1);
    assert.equal(several.limited.get(webhookId), 1);
    const waiting = await several.until(several.waiting(0, webhookId));
    assert.equal(waiting?.waitingFor, "tenant_rate_limit");
    const waitMs = (waiting?.waitingUntil ?? 0) - several.time.now();
    assert.ok(waitMs > 58_000 && waitMs <= 59_010, `${waitMs} ms`);
    await several.stop();
  });
});

suite("tenant queues that wait for the limit", () => {
  for (const shares of [true, false]) {
    for (const [ordering, types, webhooks] of [
      ["strict", 1, 3],
      ["strict", 1, 5],
      ["per_event_type", 2, 3],
      ["none", 1, 3],
    ] as const) {
      const name = `${webhooks} webhooks, order ${ordering}${shares ? ", shared state" : ""}`;
      test(`keep their positions, so that none starves: ${name}`, async () => {
        const several = await SeveralEngines.start({ seed: 1, engines: 1, shares });
        several.limit({ requestsPerMinute: 1_200, burst: 1 });
        for (let index = 0; index < webhooks; index += 1) {
          several.addWebhook(0, { events: [`w${index}.*`], ordering });
          for (let type = 0; type < types; type += 1)
            await several.publish(0, { eventType: `w${index}.t${type}`, count: 200 });
        }
        await several.pass(10_000);
        const counts = requestsBy(several, "webhookId");
        assert.equal(counts.length, webhooks);
        assert.ok(Math.max(...counts) - Math.min(...counts) <= 2, `${counts.join(", ")} requests`);
        await several.stop();
      });
    }
  }
});

/** Maximum duration of a call to the shared state, including its response. */
const networkMsMax = 6;
