/** Four workers and one API process. The limits of a webhook or a tenant apply to all workers together. */
import assert from "node:assert/strict";
import { after, before, beforeEach, suite, test } from "node:test";
import type { TestContext } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import type { ReceivedRequest, Receiver } from "../../peers/receiver.ts";
import { itemsOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import type { Cluster, ClusterProcess } from "../postgres/cluster.fixture.ts";

export interface FourWorkersOptions {
  readonly mode: string;
  readonly open: () => Promise<Cluster>;
  /**
   * Whether all workers draw from one bucket of the tenant. If false, each worker has its own part of the limit. Some
   * of the limit is then unused while the load is uneven.
   */
  readonly sharesTenantLimit: boolean;
}

interface RateLimit {
  readonly requests_per_minute: number;
  readonly burst: number;
}

const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

export function fourWorkers({ mode, open, sharesTenantLimit }: FourWorkersOptions): void {
  suite(`four workers: ${mode}`, { concurrency: 2 }, () => {
    suite("running throughout", { concurrency: 1 }, () => {
      const scene = new Scene(open);
      before(() => scene.open());
      after(() => scene.close());

      // Must be the first test, because it counts everything.
      test("WDS-217 WDS-219 every event is delivered once, and the history has no duplicates", async (t) => {
        const { cluster, api } = scene;
        const receiver = await scene.receiver(t);
        const types = Array.from({ length: 20 }, (_, index) => `load.n${index}`);
        const webhooks: string[] = [];
        for (const type of types) {
          const webhook = { url: receiver.url(`/${type}`), events: [type] };
          webhooks.push(await cluster.addWebhook(api, webhook));
        }
        const published: string[] = [];
        for (const type of types) published.push(...(await cluster.publish(api, type, numbered(30))));
        await receiver.waitForRequests(published.length);
        await eventually("everything is settled", {
          ask: () => cluster.count("SELECT count(*) FROM posthorn.queue"),
          holds: (waiting) => waiting === 0,
        });
        const ids = idsOf(receiver.requests);
        assert.deepEqual([...new Set(ids)].toSorted(), published.toSorted());
        assert.equal(ids.length, published.length, "an event was sent twice");
        assert.equal(await cluster.count("SELECT count(*) FROM posthorn.attempts"), published.length);
        const owners = await scene.countOwners(webhooks);
        assert.ok(owners >= 2, "one worker did everything");
        t.diagnostic(`${owners} workers own something`);
      });

      test("WDS-165 a hundred requests a minute within five percent", async (t) => {
        const { cluster, api } = scene;
        const receiver = await scene.receiver(t);
        const rate = { requests_per_minute: 100, burst: 10 };
        await cluster.addWebhook(api, { url: receiver.url("/"), events: ["rated.*"], rate_limit: rate });
        const sinceMs = performance.now();
        await cluster.publish(api, "rated.paid", numbered(50));
        await receiver.waitForRequests(41);
        assertNeverExceeded(receiver.requests.slice(0, 41), rate, sinceMs);
        assertReached(receiver.requests.slice(rate.burst, 41), 0.95 * rate.requests_per_minute);
      });

      // Must be the last test, because it limits the tenant that all tests use.
      test("WDS-166 the limit of a tenant applies to all workers together", async (t) => {
        const { cluster, api } = scene;
        const receiver = await scene.receiver(t);
        const rate = { requests_per_minute: 600, burst: 20 };
        await cluster.call(api, "PUT /v1/tenants/default", { rate_limit: rate });
        const webhooks: string[] = [];
        for (let index = 0; index < 12; index += 1) {
          const webhook = { url: receiver.url(`/${index}`), events: ["order.*"] };
          webhooks.push(await cluster.addWebhook(api, webhook));
        }
        await cluster.everyWorkerHeard(4);
        const sinceMs = performance.now();
        await cluster.publish(api, "order.paid", numbered(10));
        await receiver.waitForRequests(110);
        assertNeverExceeded(receiver.requests, rate, sinceMs);
        assert.ok((await scene.countOwners(webhooks)) >= 2, "one worker did everything");
        if (!sharesTenantLimit) return;

        // With separate parts, the only worker with work would get a quarter of the limit.
        // shared-state/tenant-limits.test.ts tests how exactly the limit is reached, independently of the machine's
        // load.
        await receiver.waitForRequests(120);
        await cluster.addWebhook(api, { url: receiver.url("/alone"), events: ["alone.*"] });
        await cluster.publish(api, "alone.paid", numbered(40));
        await receiver.waitForRequests(160);
        assertNeverExceeded(receiver.requests, rate, sinceMs);
        const alone = receiver.requests.filter(({ path }) => path === "/alone").slice(rate.burst);
        assertReached(alone, 0.5 * rate.requests_per_minute);
      });
    });

    suite("some of which stop", { concurrency: 1 }, () => {
      const scene = new Scene(open);
      before(() => scene.open());
      beforeEach(() => scene.replaceEnded());
      after(() => scene.close());

      test("WDS-199 a strict webhook keeps its order with one request at a time, even when its owner stops", async (t) => {
        const { cluster, api } = scene;
        const receiver = await scene.receiver(t);
        receiver.script(() => ({ delayMs: 10 }));
        const webhook = { url: receiver.url("/"), events: ["strict.*"], ordering_guarantee: "strict" };
        const id = await cluster.addWebhook(api, webhook);
        const first = await cluster.publish(api, "strict.paid", numbered(100));
        await receiver.waitForRequests(30);
        const [second, status] = await Promise.all([
          cluster.publish(api, "strict.paid", numbered(50)),
          scene.endOwner(id, "SIGTERM"),
        ]);
        assert.equal(status, 0);
        await receiver.waitForRequests(150);
        assert.deepEqual(idsOf(receiver.requests), [...first, ...second]);
        assert.equal(receiver.concurrencyPeak, 1);
      });

      test("WDS-167 five requests at a time, whichever worker delivers", async (t) => {
        const { cluster, api } = scene;
        const receiver = await scene.receiver(t);
        const id = await cluster.addWebhook(api, { url: receiver.url("/"), events: ["five.*"] });
        await scene.answersQuickly("five.quick");
        receiver.clear();
        const released = Promise.withResolvers<object>();
        receiver.script(() => released.promise);
        await cluster.publish(api, "five.paid", numbered(100));
        await receiver.waitForRequests(5);
        receiver.script(() => ({ delayMs: 200 }));
        released.resolve({});
        await receiver.waitForRequests(30);
        assert.equal(await scene.endOwner(id, "SIGTERM"), 0);
        await receiver.waitForRequests(100);
        assert.equal(receiver.concurrencyPeak, 5);
        assert.equal(receiver.requests.length, 100);
      });

      test("WDS-165 the limit of a webhook is respected when its owner changes, and when it dies", async (t) => {
        const { cluster, api } = scene;
        const receiver = await scene.receiver(t);
        const rate = { requests_per_minute: 100, burst: 20 };
        const limited = { url: receiver.url("/"), events: ["limited.*"], rate_limit: rate };
        const id = await cluster.addWebhook(api, limited);
        const sinceMs = performance.now();
        await cluster.publish(api, "limited.paid", numbered(100));
        await receiver.waitForRequests(20);
        assert.equal(await scene.endOwner(id, "SIGTERM"), 0);
        await receiver.waitForRequests(24);
        await scene.endOwner(id, "SIGKILL");
        await receiver.waitForRequests(40);
        assertNeverExceeded(receiver.requests, rate, sinceMs);
      });
    });
  });
}

/** One API process and four workers that several tests share. Each test starts the workers it needs. */
class Scene {
  readonly #open: () => Promise<Cluster>;
  readonly #stack = new AsyncDisposableStack();
  #ended = 0;
  cluster!: Cluster;
  api!: ClusterProcess;

  constructor(open: () => Promise<Cluster>) {
    this.#open = open;
  }

  async open(): Promise<void> {
    this.cluster = await this.#open();
    this.#stack.defer(() => this.cluster.close());
    const [api] = await this.cluster.start("api", "worker", "worker", "worker", "worker");
    assert.ok(api !== undefined);
    this.api = api;
  }

  /** Starts a new worker for each worker that has ended. */
  async replaceEnded(): Promise<void> {
    await this.cluster.start(...Array.from({ length: this.#ended }, () => "worker"));
    this.#ended = 0;
  }

  close(): Promise<void> {
    return this.#stack.disposeAsync();
  }

  /** Processes that are stopped at the end of the test. */
  async receiver(t: TestContext): Promise<Receiver> {
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    return receiver;
  }

  /** Resolves with the exit status of the worker that owned the webhook. */
  async endOwner(webhookId: string, signal: NodeJS.Signals): Promise<number | null> {
    const owner = await this.cluster.ownerOf(webhookId);
    this.#ended += 1;
    return owner.end(signal);
  }

  /**
   * Publishes repeatedly until a response arrives within a second, even on a slow machine. Only then does the webhook
   * get five concurrent requests.
   */
  async answersQuickly(eventType: string): Promise<void> {
    const { cluster, api } = this;
    const durationMs = async (): Promise<number> => {
      const [event = ""] = await cluster.publish(api, eventType, numbered(1));
      const delivery = await eventually("it is delivered", {
        ask: async () =>
          itemsOf((await cluster.call(api, `GET /v1/events/${event}/deliveries`)).body["data"])[0],
        holds: (found) => (found?.["status"] as unknown) === "success",
      });
      return Number(delivery?.["last_duration_ms"]);
    };
    await eventually("an answer within a second", { ask: durationMs, holds: (ms) => ms < 1_000 });
  }

  countOwners(webhookIds: readonly string[]): Promise<number> {
    const words = webhookIds.map((id) => `'${id}'`).join();
    return this.cluster.count(
      `SELECT count(DISTINCT o.worker) FROM posthorn.ownership o JOIN posthorn.strings w ON w.ref = o.webhook
       WHERE w.string IN (${words})`,
    );
  }
}

/** Checks that no request was sent earlier than a bucket that was full at `sinceMs` allows. */
function assertNeverExceeded(requests: readonly ReceivedRequest[], rate: RateLimit, sinceMs: number): void {
  for (const [index, { arrivedAtMs }] of requests.entries()) {
    const allowed = rate.burst + ((arrivedAtMs - sinceMs) * rate.requests_per_minute) / 60_000;
    assert.ok(index < allowed, `request ${index + 1} after ${Math.round(arrivedAtMs - sinceMs)} ms`);
  }
}

/**
 * Checks that some sequence of requests arrived as fast as the limit allows, so requests wait only for the limit. A
 * busy machine may delay other requests, and the limiter does not make up for unused tokens.
 */
function assertReached(requests: readonly ReceivedRequest[], requestsPerMinuteMin: number): void {
  const stretch = Math.ceil(requests.length / 2);
  const rates = requests.slice(stretch).map(({ arrivedAtMs }, index) => {
    const lastedMs = arrivedAtMs - (requests[index]?.arrivedAtMs ?? 0);
    return (stretch * 60_000) / lastedMs;
  });
  const best = Math.max(...rates);
  assert.ok(best >= requestsPerMinuteMin, `at most ${best.toFixed(1)} requests a minute`);
}

function idsOf(requests: readonly ReceivedRequest[]): string[] {
  return requests.map(({ headers }) => String(headers["webhook-id"]));
}
