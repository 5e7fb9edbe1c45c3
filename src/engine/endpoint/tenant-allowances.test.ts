import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { SharedMemory } from "../../../test/conformance/shared-state/in-process-shared-state.fixture.ts";
import type { RateLimitConfig } from "../../domain/profile.ts";
import type { SharedState, TokenDraw } from "../../ports/shared-state.ts";
import { bareEndpoint } from "./bare-endpoint.fixture.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { TenantQueue } from "./tenant-queue.ts";
import { TenantAllowances } from "./tenant-allowances.ts";

const minutely: RateLimitConfig = { requestsPerMinute: 60, burst: 3 };

/** Workers that share one state. Records each batch that a worker sends. */
class Scene {
  readonly clock = new ManualClock();
  readonly memory = new SharedMemory({ now: () => this.clock.now() });
  readonly draws: (readonly TokenDraw[])[] = [];
  readonly givenBack: (readonly TokenDraw[])[] = [];
  readonly woken: string[] = [];
  readonly warnings: string[] = [];
  /** Called before each `draw` reaches the shared state. */
  trouble: () => Promise<void> = async () => undefined;

  worker(): Worker {
    return new Worker(this, this.memory.open());
  }
}

class Worker {
  readonly state: SharedState;
  readonly allowances: TenantAllowances;
  readonly #scene: Scene;
  readonly #tenantQueues = new Map<string, TenantQueue>();

  constructor(scene: Scene, state: SharedState) {
    this.#scene = scene;
    this.state = state;
    const { clock } = scene;
    const limits: SharedState["limits"] = {
      draw: async (draws) => {
        scene.draws.push(draws);
        await scene.trouble();
        return state.limits.draw(draws);
      },
      giveBack: async (draws) => {
        scene.givenBack.push(draws);
        return state.limits.giveBack(draws);
      },
    };
    const nothing = (): void => undefined;
    const log = {
      debug: nothing,
      info: nothing,
      warn: (_: unknown, text: string) => void scene.warnings.push(text),
    };
    this.allowances = new TenantAllowances(
      {
        clock,
        random: { uniform: () => 0, bytes: (count) => new Uint8Array(count) },
        telemetry: { log: { ...log, error: nothing }, metrics: {} as never },
      },
      {
        limits,
        get isAvailable() {
          return state.isAvailable;
        },
        watch: (listener) => state.watch(listener),
      },
      ({ tenantId }) => void scene.woken.push(tenantId),
    );
  }

  tenantQueue(tenantId = "acme"): TenantQueue {
    let tenantQueue = this.#tenantQueues.get(tenantId);
    if (tenantQueue === undefined)
      this.#tenantQueues.set(tenantId, (tenantQueue = new TenantQueue(tenantId, () => undefined)));
    return tenantQueue;
  }

  /** Sets the limit that the directory would set for one of four workers. */
  limit(limit: RateLimitConfig | null, tenantId = "acme"): void {
    const tenantQueue = this.tenantQueue(tenantId);
    tenantQueue.limit(limit === null ? null : { requestsPerMinute: limit.requestsPerMinute / 4, burst: 1 });
    this.allowances.limit(tenantQueue, limit);
  }

  /** Number of ready deliveries. */
  ready(count: number, tenantId = "acme"): void {
    const readyCount = (max: number): number => Math.min(count, max);
    this.tenantQueue(tenantId).enqueue(Object.assign(bareEndpoint(), { readyCount }), 1);
  }

  /** Sends one request if the limit allows it, as the dispatcher does. */
  trySend(tenantId = "acme"): boolean {
    const tenantQueue = this.tenantQueue(tenantId);
    const now = this.#scene.clock.now();
    if (tenantQueue.rateWaitMs(now) > 0) return false;
    if (tenantQueue.allowance?.secure() === false) return false;
    tenantQueue.takeRate(now);
    return true;
  }

  /** Sends requests until the limit refuses one. */
  async send(tenantId = "acme"): Promise<number> {
    let sent = 0;
    for (let tries = 0; tries < 20; tries += 1) {
      while (this.trySend(tenantId)) sent += 1;
      await this.#scene.clock.turn();
    }
    return sent;
  }

  waitMs(tenantId = "acme"): number {
    return this.tenantQueue(tenantId).rateWaitMs(this.#scene.clock.now());
  }
}

function limited(limit: RateLimitConfig = minutely): { readonly scene: Scene; readonly worker: Worker } {
  const scene = new Scene();
  const worker = scene.worker();
  worker.limit(limit);
  return { scene, worker };
}

suite("limits of tenants across all workers", () => {
  test("two workers share one burst and one rate", async () => {
    const { scene, worker } = limited();
    const other = scene.worker();
    other.limit(minutely);
    assert.equal(await worker.send(), 3);
    assert.equal(await other.send(), 0);
    assert.equal(other.waitMs(), 1_000);
    scene.clock.advance(1_000);
    assert.equal((await other.send()) + (await worker.send()), 1);
  });

  test("asking takes nothing, and the answer arrives with a wake-up", async () => {
    const { scene, worker } = limited();
    assert.equal(worker.waitMs(), 0);
    assert.deepEqual(scene.draws, [], "looking does not draw");
    assert.equal(worker.trySend(), false);
    assert.equal(worker.trySend(), false);
    await scene.clock.turn();
    assert.equal(scene.draws.length, 1, "one draw of a tenant queue at a time");
    assert.deepEqual(scene.woken, ["acme"]);
    assert.equal(worker.trySend(), true);
  });

  test("a tenant queue without a limit asks nothing", async () => {
    const { scene, worker } = limited();
    worker.limit(null);
    assert.equal(worker.tenantQueue().allowance, null);
    for (let count = 0; count < 100; count += 1) assert.equal(worker.trySend(), true);
    await scene.clock.turn();
    assert.deepEqual(scene.draws, []);
  });

  test("all requests of tenant queues in one turn are one call", async () => {
    const { scene, worker } = limited();
    worker.limit({ requestsPerMinute: 600, burst: 1 }, "beta");
    for (const tenantId of ["acme", "beta"]) assert.equal(worker.trySend(tenantId), false);
    await scene.clock.turn();
    assert.deepEqual(scene.draws.flat(), [
      { key: "acme", limit: minutely, tokens: 1 },
      { key: "beta", limit: { requestsPerMinute: 600, burst: 1 }, tokens: 1 },
    ]);
    assert.equal(scene.draws.length, 1);
  });

  test("draws what is ready, up to what the limit allows in 150 ms", async () => {
    const { scene, worker } = limited({ requestsPerMinute: 6_000, burst: 100 });
    worker.ready(4);
    worker.trySend();
    await scene.clock.turn();
    worker.ready(1_000);
    assert.equal(await worker.send(), 100);
    assert.deepEqual(
      scene.draws
        .flat()
        .slice(0, 3)
        .map(({ tokens }) => tokens),
      [4, 15, 15],
    );
  });

  test("a refused request is repeated when the next token is available, and not before", async () => {
    const { scene, worker } = limited();
    await worker.send();
    const asked = scene.draws.length;
    scene.clock.advance(999);
    assert.equal(await worker.send(), 0);
    assert.equal(scene.draws.length, asked);
    assert.equal(worker.waitMs(), 1);
    scene.clock.advance(1);
    assert.equal(await worker.send(), 1);
  });

  test("a bucket with slack is left alone for a moment, so that one call brings several tokens", async () => {
    const { worker } = limited({ requestsPerMinute: 60_000, burst: 81 });
    worker.ready(1_000);
    await worker.send();
    assert.equal(worker.waitMs(), 10);
  });

  test("a new limit applies at once, whatever the old one refused", async () => {
    const { scene, worker } = limited({ requestsPerMinute: 1, burst: 1 });
    await worker.send();
    assert.equal(worker.waitMs(), 60_000);
    worker.limit({ requestsPerMinute: 600, burst: 5 });
    assert.equal(worker.waitMs(), 0);
    assert.equal(await worker.send(), 0);
    scene.clock.advance(100);
    assert.equal(await worker.send(), 1);
  });

  test("a response for the old limit does not delay the new one", async () => {
    const { scene, worker } = limited({ requestsPerMinute: 1, burst: 1 });
    const gate = Promise.withResolvers<undefined>();
    await worker.send();
    scene.clock.advance(60_000);
    await scene
      .worker()
      .state.limits.draw([{ key: "acme", limit: { requestsPerMinute: 1, burst: 1 }, tokens: 1 }]);
    scene.trouble = () => gate.promise;
    worker.trySend();
    await scene.clock.turn();
    worker.limit({ requestsPerMinute: 600, burst: 5 });
    gate.resolve(undefined);
    await scene.clock.turn();
    assert.equal(worker.waitMs(), 0);
  });
});

suite("drawn but unused tokens", () => {
  test("are returned after about a second", async () => {
    const { scene, worker } = limited({ requestsPerMinute: 600, burst: 10 });
    worker.ready(1);
    worker.trySend();
    await scene.clock.turn();
    assert.equal(worker.tenantQueue().allowance?.tokens, 1);
    scene.clock.advance(500);
    assert.deepEqual(scene.givenBack, []);
    scene.clock.advance(500);
    await scene.clock.turn();
    assert.deepEqual(
      scene.givenBack.flat().map(({ tokens }) => tokens),
      [1],
    );
    assert.equal(worker.tenantQueue().allowance?.tokens, 0);
    assert.equal(scene.clock.timers, 0, "nothing is held, so nothing is looked at");
  });

  test("are returned at the end, including those still being drawn", async () => {
    const { scene, worker } = limited();
    const gate = Promise.withResolvers<undefined>();
    scene.trouble = () => gate.promise;
    worker.trySend();
    await scene.clock.turn();
    const stopped = worker.allowances.stop();
    gate.resolve(undefined);
    await stopped;
    assert.deepEqual(
      scene.givenBack.flat().map(({ tokens }) => tokens),
      [1],
    );
    const other = scene.worker();
    other.limit(minutely);
    assert.equal(await other.send(), 3);
  });

  test("are lost if the shared state is unavailable, without waiting for it", async () => {
    const { scene, worker } = limited();
    worker.trySend();
    await scene.clock.turn();
    scene.memory.disconnect();
    await worker.allowances.stop();
    assert.deepEqual(scene.givenBack, []);
  });
});

suite("without the shared state", () => {
  test("WDS-207 a worker keeps to its part of the limit, and to the whole limit once the state is back", async () => {
    const { scene, worker } = limited();
    scene.memory.disconnect();
    assert.equal(await worker.send(), 1);
    assert.equal(worker.waitMs(), 4_000, "a quarter of the rate");
    assert.deepEqual(scene.draws, []);
    worker.tenantQueue().sleepUntil(scene.clock.now() + 4_000);
    scene.memory.reconnect();
    assert.deepEqual(scene.woken, ["acme"], "nobody sleeps on under the small limit");
    assert.equal(await worker.send(), 3);
  });

  test("requests sent under the shared limit count, so a loss of the state causes no second burst", async () => {
    const { scene, worker } = limited();
    assert.equal(await worker.send(), 3);
    scene.memory.disconnect();
    assert.equal(await worker.send(), 0);
    assert.equal(worker.waitMs(), 4_000);
  });

  test("after a failed call the worker uses its own bucket, and calls again a second later", async () => {
    const { scene, worker } = limited();
    scene.trouble = () => Promise.reject(new Error("a script is missing"));
    assert.equal(await worker.send(), 1);
    assert.equal(scene.draws.length, 1);
    assert.equal(scene.warnings.length, 1);
    scene.trouble = async () => undefined;
    scene.clock.advance(1_000);
    assert.equal(await worker.send(), 3);
  });
});
