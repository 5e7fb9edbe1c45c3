import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { LaneKey } from "../../domain/webhook.ts";
import type { StoreChange, StoreChanges } from "../../ports/store/changes.ts";
import type { DeliveryStore } from "../../ports/store/deliveries.ts";
import type { Metrics } from "../../ports/telemetry.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { Lane } from "../endpoint/lane.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { Wakeups } from "../endpoint/wakeups.ts";
import type { ConfigSync } from "./config-sync.ts";
import { StoreListener } from "./store-listener.ts";

const keyOf = (webhookId: string, ordering: LaneKey["ordering"] = "none"): LaneKey => ({
  webhookId,
  ordering,
  eventType: null,
});

/** Notifications sent by the test. */
class Source implements StoreChanges {
  carriesWork = true;
  readonly #listeners = new Set<(change: StoreChange) => void>();

  subscribe(listener: (change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  notify(change: StoreChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** A process that serves `mine`. Its store has work for `mine` and `theirs`, on two pages of lanes. */
class Scene {
  readonly clock = new ManualClock();
  readonly changes = new Source();
  readonly news = new Source();
  readonly served = new Set(["mine"]);
  readonly lane: Lane;
  /** Recorded calls in order. */
  readonly done: string[] = [];
  /** Calls wait until the test resolves this. */
  pageGate: () => Promise<unknown> = async () => undefined;
  readonly listener: StoreListener;

  constructor({
    delivers = true,
    ordering = "none",
  }: { delivers?: boolean; ordering?: LaneKey["ordering"] } = {}) {
    const silent = (): void => undefined;
    const note = (what: string) => async () => void this.done.push(what);
    const endpoint = { owned: true, laneWoke: silent, lane: () => this.lane };
    this.lane = new Lane(keyOf("mine", ordering), endpoint as unknown as Endpoint);
    this.listener = new StoreListener({
      clock: this.clock,
      delivers,
      news: this.news,
      wakeups: new Wakeups(this.clock),
      store: {
        changes: this.changes,
        deliveries: {
          lanesWithWork: async (after) => {
            this.done.push(`page ${after}`);
            await this.pageGate();
            return after === null
              ? { lanes: [keyOf("theirs")], next: "1" }
              : { lanes: [keyOf("mine")], next: null };
          },
        } as Partial<DeliveryStore> as DeliveryStore,
      },
      telemetry: {
        log: {
          debug: silent,
          info: silent,
          error: silent,
          warn: (fields) => void this.done.push(`warned ${JSON.stringify(fields)}`),
        },
        metrics: {} as Metrics,
      },
      directory: {
        get: (id: string) => (this.served.has(id) ? endpoint : undefined),
      } as Partial<Record<keyof Directory, unknown>> as Directory,
      sync: {
        reloadAll: note("reload"),
        load: async (ids: readonly string[]) => void this.done.push(`load ${ids.join()}`),
        loadTenantKeys: async (ids: readonly string[]) => void this.done.push(`keys ${ids.join()}`),
      } as Partial<ConfigSync> as ConfigSync,
      isBrought: () => false,
      hasQueue: false,
      consider: (lane) => void this.done.push(`consider ${lane.key.webhookId}`),
      wanted: async (id) => {
        this.done.push(`want ${id}`);
        this.served.add(id);
      },
      ordered: () => void this.done.push("orders"),
    });
    this.listener.start();
  }

  /** Returns the calls that `cause` triggers. */
  async after(cause: () => void): Promise<readonly string[]> {
    this.done.length = 0;
    cause();
    for (let turns = 0; turns < 5; turns += 1) await this.clock.turn();
    return [...this.done];
  }
}

const lookedEverywhere = ["page null", "page 1", "consider mine"];

suite("store listener", () => {
  test("after a gap in the store's own changes everything is read and checked again", async () => {
    const { after, changes } = bound(new Scene());
    assert.deepEqual(await after(() => changes.notify({ kind: "unknown" })), ["reload", ...lookedEverywhere]);
  });

  test("a long gap is logged", async () => {
    const { after, changes } = bound(new Scene());
    const done = await after(() => changes.notify({ kind: "unknown", silentMs: 5_999.6 }));
    assert.deepEqual(done, ['warned {"silentMs":6000}', "reload", ...lookedEverywhere]);
  });

  test("after a gap in other announcements only configuration is read again, because they carry no work", async () => {
    const { after, news } = bound(new Scene());
    assert.deepEqual(await after(() => news.notify({ kind: "unknown" })), ["reload"]);
  });

  test("changed configuration is read, whichever way it is announced", async () => {
    const { after, changes, news } = bound(new Scene());
    for (const source of [changes, news]) {
      const notified = await after(() => {
        source.notify({ kind: "config", change: { kind: "webhooks", webhookIds: ["a", "b"] } });
        source.notify({ kind: "config", change: { kind: "tenant_keys", tenantIds: ["acme"] } });
        source.notify({ kind: "config", change: { kind: "orders", webhookIds: ["a"] } });
      });
      assert.deepEqual(notified, ["load a,b", "keys acme", "orders"]);
    }
  });

  test("after any number of possibly missed changes, one more check follows", async () => {
    const scene = new Scene();
    const gate = Promise.withResolvers<null>();
    scene.pageGate = () => gate.promise;
    const first = await scene.after(() => {
      for (let times = 0; times < 50; times += 1) void scene.listener.lookEverywhere();
    });
    assert.deepEqual(first, ["page null"]);
    assert.deepEqual(await scene.after(() => gate.resolve(null)), [
      ...lookedEverywhere.slice(1),
      ...lookedEverywhere,
    ]);
  });

  test("a request that arrives while a check ends gets another check", async () => {
    for (let microtasks = 0; microtasks < 20; microtasks += 1) {
      const scene = new Scene();
      let asked = -1;
      await scene.after(() => {
        void scene.listener.lookEverywhere();
        void (async () => {
          for (let passed = 0; passed < microtasks; passed += 1) await Promise.resolve();
          asked = scene.done.length;
          await scene.listener.lookEverywhere();
        })();
      });
      assert.ok(
        scene.done.includes("page null", asked),
        `nothing was looked at after ${microtasks} microtasks`,
      );
    }
  });

  test("work in a lane served here is checked; for other work, the webhook is requested first", async () => {
    const scene = new Scene();
    const { after, changes } = bound(scene);
    assert.deepEqual(await after(() => changes.notify({ kind: "lanes", lanes: [keyOf("mine")] })), [
      "consider mine",
    ]);
    assert.ok(scene.lane.hasMore());
    assert.deepEqual(await after(() => changes.notify({ kind: "lanes", lanes: [keyOf("theirs")] })), [
      "want theirs",
      "consider mine",
    ]);
  });

  test("an ordered lane that waits for its head looks for another one at most once a second", async () => {
    const scene = new Scene({ ordering: "strict" });
    scene.lane.sleepUntil(scene.clock.now() + 60_000);
    const { after, changes } = bound(scene);
    const heard = await after(() => {
      for (let times = 0; times < 10; times += 1)
        changes.notify({ kind: "lanes", lanes: [keyOf("mine", "strict")] });
    });
    assert.deepEqual(heard, []);
    assert.equal(scene.lane.wakeAt, scene.clock.now() + 1_000);
  });

  test("checks from time to time without an announcement, and at once after an unannounced change may have been missed", async () => {
    const scene = new Scene();
    const pass = (ms: number) => scene.after(() => scene.clock.advance(ms));
    assert.deepEqual(await pass(1_000), lookedEverywhere);
    for (let second = 1; second < 30; second += 1) assert.deepEqual(await pass(1_000), []);
    assert.deepEqual(await pass(1_000), lookedEverywhere);
    scene.listener.lookSoon();
    assert.deepEqual(await pass(1_000), []);
    assert.deepEqual(await pass(1_000), lookedEverywhere);
  });

  test("checks once a second if only configuration is announced", async () => {
    const scene = new Scene();
    scene.changes.carriesWork = false;
    for (let second = 0; second < 3; second += 1)
      assert.deepEqual(await scene.after(() => scene.clock.advance(1_000)), lookedEverywhere);
  });

  test("a process that delivers nothing only reads configuration", async () => {
    const { after, changes, clock } = bound(new Scene({ delivers: false }));
    const notified = await after(() => {
      changes.notify({ kind: "lanes", lanes: [keyOf("mine")] });
      changes.notify({ kind: "unknown" });
      clock.advance(60_000);
    });
    assert.deepEqual(notified, ["reload"]);
  });

  test("ends", async () => {
    const { after, changes, news, listener, clock } = bound(new Scene());
    await listener.stop();
    const notified = await after(() => {
      for (const source of [changes, news]) source.notify({ kind: "unknown" });
    });
    assert.deepEqual(notified, []);
    assert.equal(clock.timers, 0);
  });
});

function bound(scene: Scene) {
  const { changes, news, listener, clock } = scene;
  return { changes, news, listener, clock, after: scene.after.bind(scene) };
}
