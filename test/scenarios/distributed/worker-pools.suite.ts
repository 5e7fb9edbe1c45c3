/**
 * A tenant with its own workers: which pool serves it, which deliveries wait for the pool, and what happens after the
 * tenant moves to another pool.
 */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { TestContext } from "node:test";
import { type Receiver, startReceiver } from "../../peers/receiver.ts";
import { itemsOf, type Json, textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import type { Cluster, ClusterProcess } from "../postgres/cluster.fixture.ts";

export interface WorkerPoolsOptions {
  readonly mode: string;
  readonly open: () => Promise<Cluster>;
}

/**
 * A worker is notified of the move immediately and releases the webhook with its next heartbeat (3 s). Another worker
 * then finds it.
 */
const takeoverMsMax = 60_000;
/** Longer than any polling interval, so that a worker of the wrong pool would have acquired some webhooks by now. */
const temptationMs = 4_000;

export function workerPools({ mode, open }: WorkerPoolsOptions): void {
  suite(`worker pools: ${mode}`, () => {
    test("WDS-220 only workers of its pool serve a tenant, and its events wait for them", async (t) => {
      const scene = await PoolScene.open(t, open);
      const { cluster, receiver } = scene;
      const [api, , ordinary] = await cluster.start("api", "scheduler", "worker");
      assert.ok(api !== undefined && ordinary !== undefined);
      const webhooks = await scene.prepare(api);
      await scene.move("big");
      const waiting = await scene.publish("acme", 5);
      const others = await scene.publish("default", 5);
      await receiver.waitUntil(() => scene.arrived("default").length === others.length);
      assert.equal((await cluster.ownerOf(webhooks.default)).worker, ordinary.worker);
      await new Promise((resolve) => setTimeout(resolve, temptationMs));
      assert.deepEqual(scene.arrived("acme"), [], "a worker of another pool sent something");
      for (const id of waiting)
        assert.deepEqual(await scene.shown(id), { status: "pending", waiting_for: "capacity" });
      await scene.assertQueued({ consumers: 0 });

      const [own] = await cluster.startWith({ POSTHORN_WORKER_POOL: "big" }, ["worker"]);
      const startedMs = performance.now();
      await receiver.waitUntil(() => scene.arrived("acme").length === waiting.length);
      t.diagnostic(`delivered ${Math.round(performance.now() - startedMs)} ms after their worker ran`);
      assert.deepEqual(scene.arrived("acme"), waiting);
      await scene.assertQueued({ consumers: 1 });
      const more = [await scene.publish("acme", 20), await scene.publish("default", 20)] as const;
      await receiver.waitUntil(() => scene.arrived("acme").length === 25);
      await receiver.waitUntil(() => scene.arrived("default").length === 25);
      assert.deepEqual(scene.arrived("acme"), [...waiting, ...more[0]]);
      assert.equal((await cluster.ownerOf(webhooks.acme)).worker, own?.worker);
      assert.equal((await cluster.ownerOf(webhooks.default)).worker, ordinary.worker);
    });

    test("WDS-220 a tenant that is moved is served by the other pool, in order and without a repeat", async (t) => {
      const scene = await PoolScene.open(t, open);
      const { cluster, receiver } = scene;
      const [api, , ordinary] = await cluster.start("api", "scheduler", "worker");
      const [own] = await cluster.startWith({ POSTHORN_WORKER_POOL: "big" }, ["worker"]);
      assert.ok(api !== undefined && ordinary !== undefined && own !== undefined);
      const webhooks = await scene.prepare(api);
      receiver.script(() => ({ delayMs: 5 }));
      const published: string[] = [];
      for (const [pool, worker] of [
        ["big", own],
        ["default", ordinary],
        ["big", own],
      ] as const) {
        await scene.move(pool);
        const movedMs = performance.now();
        // Workers of both pools may send events that are published during the move.
        await eventually(`the tenant is served by pool ${pool}`, {
          ask: async () => {
            published.push(...(await scene.publish("acme", 5)));
            return (await cluster.ownerOf(webhooks.acme)).worker;
          },
          holds: (owner) => owner === worker.worker,
          withinMs: takeoverMsMax,
        });
        t.diagnostic(`served by pool ${pool} after ${Math.round(performance.now() - movedMs)} ms`);
        published.push(...(await scene.publish("acme", 10)));
        await receiver.waitUntil(() => scene.arrived("acme").length >= published.length);
        assert.deepEqual(scene.arrived("acme"), published);
      }
    });

    test("WDS-220 deliveries that waited for a pool without workers are sent by the others when the tenant is moved back", async (t) => {
      const scene = await PoolScene.open(t, open);
      const { cluster, receiver } = scene;
      const [api, , ordinary] = await cluster.start("api", "scheduler", "worker");
      const [own] = await cluster.startWith({ POSTHORN_WORKER_POOL: "big" }, ["worker"]);
      assert.ok(api !== undefined && ordinary !== undefined && own !== undefined);
      const webhooks = await scene.prepare(api);
      await scene.move("big");
      const sent = await scene.publish("acme", 5);
      await receiver.waitUntil(() => scene.arrived("acme").length === sent.length);
      assert.equal(await own.end("SIGTERM"), 0, own.output);
      const waiting = await scene.publish("acme", 30);
      await new Promise((resolve) => setTimeout(resolve, temptationMs));
      assert.deepEqual(scene.arrived("acme"), sent);
      await scene.move("default");
      const movedMs = performance.now();
      await receiver.waitUntil(
        () => scene.arrived("acme").length === sent.length + waiting.length,
        takeoverMsMax,
      );
      t.diagnostic(`all sent ${Math.round(performance.now() - movedMs)} ms after the move`);
      assert.deepEqual(scene.arrived("acme"), [...sent, ...waiting]);
      assert.equal((await cluster.ownerOf(webhooks.acme)).worker, ordinary.worker);
    });
  });
}

type TenantId = "acme" | "default";

/** Two tenants, each with a strictly ordered webhook. */
class PoolScene {
  readonly cluster: Cluster;
  readonly receiver: Receiver;
  #api: ClusterProcess | null = null;

  private constructor(cluster: Cluster, receiver: Receiver) {
    this.cluster = cluster;
    this.receiver = receiver;
  }

  /** Processes that are stopped at the end of the test. */
  static async open(t: TestContext, open: () => Promise<Cluster>): Promise<PoolScene> {
    const cluster = await open();
    t.after(() => cluster.close());
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    return new PoolScene(cluster, receiver);
  }

  /** Creates the tenants and their webhooks. Returns the IDs of the webhooks. */
  async prepare(api: ClusterProcess): Promise<Readonly<Record<TenantId, string>>> {
    this.#api = api;
    await this.#call("PUT /v1/tenants/acme", {});
    const add = (tenantId: TenantId): Promise<string> =>
      this.cluster.addWebhook(api, {
        url: this.receiver.url(`/${tenantId}`),
        tenant_id: tenantId,
        events: ["order.*"],
        ordering_guarantee: "strict",
      });
    return { acme: await add("acme"), default: await add("default") };
  }

  /** Assigns `acme` to another pool. */
  async move(pool: string): Promise<void> {
    assert.equal((await this.#call("PUT /v1/tenants/acme", { worker_pool: pool }))["worker_pool"], pool);
  }

  /** Returns the IDs of the events. */
  async publish(tenantId: TenantId, count: number): Promise<readonly string[]> {
    const events = Array.from({ length: count }, (_, n) => ({
      event_type: "order.paid",
      tenant_id: tenantId,
      data: { n },
    }));
    const { results } = await this.#call("POST /v1/events/batch", { events });
    return itemsOf(results).map(({ id }) => textOf(id));
  }

  /** IDs of the events that a tenant's webhook received, in order. */
  arrived(tenantId: TenantId): readonly string[] {
    return this.receiver.requests
      .filter(({ path }) => path === `/${tenantId}`)
      .map(({ headers }) => String(headers["webhook-id"]));
  }

  /** The delivery of an event, as the API reports it. */
  async shown(eventId: string): Promise<object> {
    const { data } = await this.#call(`GET /v1/events/${eventId}/deliveries`);
    const [delivery] = itemsOf(data);
    return { status: delivery?.["status"], waiting_for: delivery?.["waiting_for"] };
  }

  /** With RabbitMQ, the pool must have a queue with its name and this many consumers. */
  async assertQueued({ consumers }: { readonly consumers: number }): Promise<void> {
    const { prefixes } = this.cluster;
    if (prefixes === null) return;
    const queue = await eventually("consumers of the pool's queue", {
      ask: () => prefixes.workQueue("big"),
      holds: (found) => found.consumers === consumers,
    });
    assert.equal(queue.name, `${prefixes.values.queuePrefix}.work.big.normal`);
    if (consumers === 0) assert.ok(queue.notices > 0, "nothing waits for the pool");
  }

  async #call(request: string, body?: object): Promise<Json> {
    assert.ok(this.#api !== null, "prepare first");
    const reply = await this.cluster.call(this.#api, request, body);
    assert.ok(reply.status < 300, JSON.stringify(reply));
    return reply.body;
  }
}
