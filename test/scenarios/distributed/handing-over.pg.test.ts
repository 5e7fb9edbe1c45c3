/**
 * Strictly ordered webhooks move between workers while their deliveries are in progress. No event may be lost, repeated
 * or reordered.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Receiver, startReceiver } from "../../peers/receiver.ts";
import { textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { Cluster, type ClusterProcess } from "../postgres/cluster.fixture.ts";

/** Number of webhooks. A worker that owns all of them must release half of them to another worker. */
const webhooks = 8;
/**
 * With its next heartbeat (3 s), a worker releases webhooks that exceed its share or belong to a different pool.
 * Another worker then acquires them.
 */
const takeoverMsMax = 60_000;
const publishEveryMs = 200;
/** Every webhook has waiting deliveries when it changes owners. */
const answerMs = 100;

test("WDS-199 WDS-220 strict webhooks change owners under load: in order, one request at a time, without repeats or losses", async (t) => {
  const scene = await HandOver.begin(t);
  const { cluster, receiver } = scene;
  const [first] = await cluster.start("worker");
  const [own] = await cluster.startWith({ POSTHORN_WORKER_POOL: "big" }, ["worker"]);
  assert.ok(first !== undefined && own !== undefined);
  const stream = scene.publishUntilStopped();
  await scene.servedBy([first]);
  await receiver.waitForRequests(webhooks * 3);

  const [second] = await cluster.start("worker");
  assert.ok(second !== undefined);
  await scene.servedBy([first, second]);
  assert.equal(await first.end("SIGTERM"), 0, first.output);
  await scene.servedBy([second]);
  await scene.move("big");
  await scene.servedBy([own]);
  await scene.move("default");
  await scene.servedBy([second]);

  const published = await stream.stop();
  t.diagnostic(`${published.length} events for each of ${webhooks} webhooks`);
  await receiver.waitForRequests(published.length * webhooks);
  await eventually("everything is settled", {
    ask: () => cluster.count("SELECT count(*) FROM posthorn.queue"),
    holds: (waiting) => waiting === 0,
  });
  for (let index = 0; index < webhooks; index += 1) scene.assertKept(index, published);
  assert.equal(
    await cluster.count("SELECT count(*) FROM posthorn.attempts"),
    published.length * webhooks,
    "the history holds one attempt of each",
  );
});

/** A tenant whose webhooks all receive the same events. */
class HandOver {
  readonly cluster: Cluster;
  readonly receiver: Receiver;
  readonly #api: ClusterProcess;

  private constructor(parts: {
    readonly cluster: Cluster;
    readonly receiver: Receiver;
    readonly api: ClusterProcess;
  }) {
    this.cluster = parts.cluster;
    this.receiver = parts.receiver;
    this.#api = parts.api;
  }

  /** Processes that are stopped at the end of the test. */
  static async begin(t: TestContext): Promise<HandOver> {
    const cluster = await Cluster.open();
    t.after(() => cluster.close());
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    receiver.script(() => ({ delayMs: answerMs }));
    const [api] = await cluster.start("api,scheduler");
    assert.ok(api !== undefined);
    const scene = new HandOver({ cluster, receiver, api });
    await scene.move("default");
    for (let index = 0; index < webhooks; index += 1)
      await cluster.addWebhook(api, {
        url: receiver.url(`/${index}`),
        tenant_id: "acme",
        events: ["order.*"],
        ordering_guarantee: "strict",
      });
    return scene;
  }

  /** Publishes a few events per second. `stop` resolves with their IDs, in order of publication. */
  publishUntilStopped(): { readonly stop: () => Promise<readonly string[]> } {
    const ending = new AbortController();
    const running = this.#publishUntil(ending.signal);
    return {
      stop: () => {
        ending.abort();
        return running;
      },
    };
  }

  async #publishUntil(end: AbortSignal): Promise<readonly string[]> {
    const ids: string[] = [];
    while (!end.aborted) {
      const event = { event_type: "order.paid", tenant_id: "acme", data: { n: ids.length } };
      const { status, body } = await this.cluster.call(this.#api, "POST /v1/events", event);
      assert.equal(status, 202, JSON.stringify(body));
      ids.push(textOf(body["id"]));
      await sleep(publishEveryMs);
    }
    return ids;
  }

  /** Assigns the tenant to a worker pool. */
  async move(pool: string): Promise<void> {
    const { status, body } = await this.cluster.call(this.#api, "PUT /v1/tenants/acme", {
      worker_pool: pool,
    });
    assert.ok(status < 300, JSON.stringify(body));
  }

  /** Resolves when all webhooks are served by exactly these workers and each worker sends something. */
  async servedBy(workers: readonly ClusterProcess[]): Promise<void> {
    const expected = workers.map(({ worker }) => Number(worker)).toSorted((left, right) => left - right);
    await eventually(`workers ${expected.join()} serve all`, {
      ask: async () => {
        const rows = await this.cluster.database.query("SELECT worker FROM posthorn.ownership ORDER BY 1");
        return rows.map(({ worker }) => worker);
      },
      holds: (owners) =>
        owners.length === webhooks && JSON.stringify([...new Set(owners)]) === JSON.stringify(expected),
      withinMs: takeoverMsMax,
    });
    await this.receiver.waitForRequests(this.receiver.requestCount + webhooks);
  }

  /**
   * Checks that every event arrived exactly once and in order, and that each request was sent after the response to the
   * previous one.
   */
  assertKept(index: number, published: readonly string[]): void {
    const requests = this.receiver.requests.filter(({ path }) => path === `/${index}`);
    assert.deepEqual(
      requests.map(({ headers }) => String(headers["webhook-id"])),
      published,
    );
    const gaps = requests.slice(1).map(({ arrivedAtMs }, before) => {
      return arrivedAtMs - (requests[before]?.arrivedAtMs ?? 0);
    });
    assert.ok(Math.min(...gaps) > answerMs * 0.9, `two requests at once at webhook ${index}`);
  }
}
