/** Calls that a worker has cancelled but that still reach the server, long afterwards. */
import assert from "node:assert/strict";
import { suite, type TestContext, test } from "node:test";
import pg from "pg";
import { createTestDatabase } from "../../../test/conformance/store/postgres-database.fixture.ts";
import { lane, newWebhook, only, publish, start } from "../../../test/conformance/store/scene.fixture.ts";
import { eventually } from "../../../test/scenarios/eventually.fixture.ts";
import type { AcquiredWebhook, OwnershipStore } from "../../ports/store/ownership.ts";
import { openPostgresStore } from "./open.ts";

class Scene {
  readonly ownership: OwnershipStore;
  readonly webhookId: string;
  /** An operator's session that runs its own transactions. */
  readonly client: pg.Client;
  worker = 0;

  private constructor(parts: Pick<Scene, "ownership" | "webhookId" | "client">) {
    this.ownership = parts.ownership;
    this.webhookId = parts.webhookId;
    this.client = parts.client;
  }

  /** A webhook with work, and a worker. Both are closed after the test. */
  static async open(t: TestContext): Promise<Scene> {
    const stack = new AsyncDisposableStack();
    t.after(() => stack.disposeAsync());
    const database = await createTestDatabase();
    stack.defer(() => database.drop());
    const masterKeyIds = { current: "key", previous: [] };
    const store = await openPostgresStore({ url: database.url, now: start, masterKeyIds });
    stack.defer(() => store.close());
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    stack.defer(() => client.end());
    const { id: webhookId } = newWebhook();
    await publish(store, { deliveries: [{ lane: lane(webhookId) }] });
    assert.ok(store.ownership !== undefined);
    const scene = new Scene({ ownership: store.ownership, webhookId, client });
    scene.worker = await scene.join();
    return scene;
  }

  join(): Promise<number> {
    return this.ownership.join({ aliveMs: 60_000, pool: "default" });
  }

  async acquire(worker = this.worker): Promise<readonly AcquiredWebhook[]> {
    const from = { kind: "webhooks", ids: [this.webhookId] } as const;
    return (await this.ownership.acquire({ worker, from, limit: 1, slack: 1 })).webhooks;
  }

  async release(ownerEpoch: number): Promise<void> {
    const unknown = {
      pausedUntil: null,
      pauseReason: null,
      lastSuccessAt: null,
      circuit: null,
      health: null,
    };
    const state = { webhookId: this.webhookId, ownerEpoch, ...unknown };
    await this.ownership.release(this.worker, [{ state, rateFullAt: null }]);
  }

  async assertKept(): Promise<void> {
    assert.deepEqual(await this.acquire(await this.join()), [], "another worker was given the webhook");
  }
}

suite("calls that arrive late", () => {
  test("a release frees nothing that the worker has acquired again since", async (t) => {
    const scene = await Scene.open(t);
    const before = only(await scene.acquire());
    await scene.release(before.ownerEpoch);
    const again = only(await scene.acquire());
    await scene.release(before.ownerEpoch);
    await scene.assertKept();
    await scene.release(again.ownerEpoch);
    assert.equal((await scene.acquire(await scene.join())).length, 1);
  });

  test("an order counts as followed only while the worker owns the webhook: else its effect may not be stored", async (t) => {
    const scene = await Scene.open(t);
    const { ownership, webhookId, worker } = scene;
    const { ownerEpoch } = only(await scene.acquire());
    await ownership.order(webhookId, "open the circuit");
    const [order] = await ownership.orders({ worker });
    assert.ok(order !== undefined);
    await scene.release(ownerEpoch);
    await ownership.followed({ worker, refs: [order.ref] });
    assert.deepEqual(await ownership.orders({ webhookIds: [webhookId] }), [order]);
    const next = await scene.join();
    await scene.acquire(next);
    await ownership.followed({ worker: next, refs: [order.ref] });
    assert.deepEqual(await ownership.orders({ webhookIds: [webhookId] }), []);
  });

  test("keepOnly frees nothing that the worker has acquired again since", async (t) => {
    const scene = await Scene.open(t);
    await scene.acquire();
    const { client, ownership, worker } = scene;
    await client.query("BEGIN");
    // Simulates that a second attempt released the webhook and that it was acquired again.
    await client.query("UPDATE posthorn.ownership SET owner_epoch = owner_epoch + 1");
    const late = ownership.keepOnly(worker, []);
    await eventually("the call waits", {
      ask: () =>
        client.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        ),
      holds: ({ rowCount }) => rowCount === 1,
    });
    await client.query("COMMIT");
    await late;
    await scene.assertKept();
    await ownership.keepOnly(worker, []);
    assert.equal((await scene.acquire(await scene.join())).length, 1);
  });
});
