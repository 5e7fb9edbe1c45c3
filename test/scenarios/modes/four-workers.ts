/** Four workers and one API process: what holds for one webhook or one tenant holds over all of them together. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { TestContext } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import type { ReceivedRequest, Receiver } from "../../peers/receiver.ts";
import { eventually } from "../eventually.ts";
import type { Cluster } from "../postgres/cluster.ts";

export interface FourWorkersOptions {
  readonly mode: string;
  readonly open: () => Promise<Cluster>;
  /** Whether workers draw from one bucket of the tenant; else each has its part, and some is left while work is uneven. */
  readonly sharesTenantLimit: boolean;
}

interface RateLimit {
  readonly requests_per_minute: number;
  readonly burst: number;
}

const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

export function fourWorkers({ mode, open, sharesTenantLimit }: FourWorkersOptions): void {
  suite(`four workers: ${mode}`, { concurrency: 2 }, () => {
    test("WDS-217 WDS-219 every event is delivered once, and nothing stands twice in the history", async (t) => {
      const { cluster, api, receiver } = await start(t, open);
      const types = Array.from({ length: 20 }, (_, index) => `load.n${index}`);
      for (const type of types)
        await cluster.addWebhook(api, { url: receiver.url(`/${type}`), events: [type] });
      const published: string[] = [];
      for (const type of types) published.push(...(await cluster.publish(api, type, numbered(30))));
      await receiver.waitForRequests(published.length, 20_000);
      await eventually("everything is settled", {
        ask: () => cluster.count("SELECT count(*) FROM posthorn.queue"),
        holds: (waiting) => waiting === 0,
      });
      const ids = idsOf(receiver.requests);
      assert.deepEqual([...new Set(ids)].toSorted(), published.toSorted());
      assert.equal(ids.length, published.length, "an event was sent twice");
      assert.equal(await cluster.count("SELECT count(*) FROM posthorn.attempts"), published.length);
      const owners = await cluster.count("SELECT count(DISTINCT worker) FROM posthorn.ownership");
      assert.ok(owners >= 2, "one worker did everything");
      t.diagnostic(`${owners} workers own something`);
    });

    test("WDS-199 a strict webhook keeps its order with one request at a time, also when its owner ends", async (t) => {
      const { cluster, api, receiver } = await start(t, open);
      receiver.script(() => ({ delayMs: 10 }));
      const webhook = { url: receiver.url("/"), events: ["order.*"], ordering_guarantee: "strict" };
      const id = await cluster.addWebhook(api, webhook);
      const first = await cluster.publish(api, "order.paid", numbered(100));
      await receiver.waitForRequests(30, 20_000);
      const owner = await cluster.ownerOf(id);
      const [second, status] = await Promise.all([
        cluster.publish(api, "order.paid", numbered(50)),
        owner.end("SIGTERM"),
      ]);
      assert.equal(status, 0, owner.output);
      await receiver.waitForRequests(150, 20_000);
      assert.deepEqual(idsOf(receiver.requests), [...first, ...second]);
      assert.equal(receiver.concurrencyPeak, 1);
    });

    test("WDS-167 five requests at a time, whoever delivers", async (t) => {
      const { cluster, api, receiver } = await start(t, open);
      receiver.script(() => ({ delayMs: 100 }));
      const id = await cluster.addWebhook(api, { url: receiver.url("/"), events: ["order.*"] });
      await cluster.publish(api, "order.paid", numbered(100));
      await receiver.waitForRequests(30, 20_000);
      assert.equal(await (await cluster.ownerOf(id)).end("SIGTERM"), 0);
      await receiver.waitForRequests(100, 20_000);
      assert.equal(receiver.concurrencyPeak, 5);
      assert.equal(receiver.requestCount, 100);
    });

    test("WDS-165 a hundred requests a minute within five percent", async (t) => {
      const { cluster, api, receiver } = await start(t, open);
      const rate = { requests_per_minute: 100, burst: 10 };
      await cluster.addWebhook(api, { url: receiver.url("/"), events: ["order.*"], rate_limit: rate });
      await cluster.publish(api, "order.paid", numbered(50));
      await receiver.waitForRequests(41, 40_000);
      assertRate(t, { requests: receiver.requests.slice(rate.burst, 41), rate });
    });

    test("WDS-165 the limit of a webhook holds when its owner changes, and when it dies", async (t) => {
      const { cluster, api, receiver } = await start(t, open);
      const rate = { requests_per_minute: 100, burst: 20 };
      const limited = { url: receiver.url("/"), events: ["order.*"], rate_limit: rate };
      const id = await cluster.addWebhook(api, limited);
      await cluster.publish(api, "order.paid", numbered(100));
      await receiver.waitForRequests(20, 20_000);
      assert.equal(await (await cluster.ownerOf(id)).end("SIGTERM"), 0);
      await receiver.waitForRequests(24, 10_000);
      await (await cluster.ownerOf(id)).end("SIGKILL");
      await receiver.waitForRequests(40, 30_000);
      assertNeverExceeded(receiver.requests, rate);
    });

    test("WDS-166 the limit of a tenant is over all workers together", async (t) => {
      const { cluster, api, receiver } = await start(t, open);
      const rate = { requests_per_minute: 600, burst: 20 };
      await cluster.call(api, "PUT /v1/tenants/default", { rate_limit: rate });
      for (let index = 0; index < 12; index += 1)
        await cluster.addWebhook(api, { url: receiver.url(`/${index}`), events: ["order.*"] });
      await eventually("every worker has heard of the others", {
        ask: () => cluster.count("SELECT count(*) FROM posthorn.workers"),
        holds: (workers) => workers === 4,
      });
      // One beat later each knows how many share the limit.
      await new Promise((resolve) => setTimeout(resolve, 3_500));
      await cluster.publish(api, "order.paid", numbered(10));
      await receiver.waitForRequests(110, 60_000);
      const requests = receiver.requests.slice(0, 110);
      assertNeverExceeded(requests, rate);
      const owners = await cluster.count("SELECT count(DISTINCT worker) FROM posthorn.ownership");
      assert.ok(owners >= 2, "one worker did everything");
      if (sharesTenantLimit) assertRate(t, { requests: requests.slice(rate.burst), rate });
    });
  });
}

/** Everything ends with the test. */
async function start(t: TestContext, open: () => Promise<Cluster>) {
  const cluster = await open();
  t.after(() => cluster.close());
  const receiver: Receiver = await startReceiver();
  t.after(() => receiver.close());
  const [api] = await cluster.start("api", "worker", "worker", "worker", "worker");
  assert.ok(api !== undefined);
  return { cluster, api, receiver };
}

/** What a bucket would have let through. */
function assertNeverExceeded(requests: readonly ReceivedRequest[], rate: RateLimit): void {
  const startedAtMs = requests[0]?.arrivedAtMs ?? 0;
  for (const [index, { arrivedAtMs }] of requests.entries()) {
    // The clock of the receiver starts with the first request, a moment after the bucket gave its token.
    const allowed = rate.burst + ((arrivedAtMs - startedAtMs + 250) * rate.requests_per_minute) / 60_000;
    assert.ok(index < allowed + 1, `request ${index} after ${Math.round(arrivedAtMs - startedAtMs)} ms`);
  }
}

/** Requests that waited for nothing but the rate. */
function assertRate(
  t: TestContext,
  { requests, rate }: { readonly requests: readonly ReceivedRequest[]; readonly rate: RateLimit },
): void {
  const lastedMs = (requests.at(-1)?.arrivedAtMs ?? 0) - (requests[0]?.arrivedAtMs ?? 0);
  const perMinute = ((requests.length - 1) * 60_000) / lastedMs;
  t.diagnostic(`${perMinute.toFixed(1)} requests a minute, of ${rate.requests_per_minute} allowed`);
  const deviation = Math.abs(perMinute / rate.requests_per_minute - 1);
  assert.ok(deviation <= 0.05, `${perMinute.toFixed(1)} requests a minute`);
}

function idsOf(requests: readonly ReceivedRequest[]): string[] {
  return requests.map(({ headers }) => String(headers["webhook-id"]));
}
