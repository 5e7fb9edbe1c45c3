import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { SharedMemory } from "../../../test/conformance/shared-state/in-process-shared-state.fixture.ts";
import { recordResult } from "../../domain/circuit-breaker.ts";
import { createBucket, peekWaitMs, tryTake } from "../../domain/rate-limit.ts";
import type { AcquiredWebhook, RateHandover } from "../../ports/store/ownership.ts";
import { bareEndpoint } from "../endpoint/bare-endpoint.fixture.ts";
import { Lane } from "../endpoint/lane.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { EndpointNotes } from "./endpoint-notes.ts";
import { OwnedEndpoints } from "./owned-endpoints.ts";

const rateLimit = { requestsPerMinute: 60, burst: 5 };

/** One webhook that several workers acquire in turn. The workers share no memory. */
class Scene {
  readonly clock = new ManualClock();
  readonly memory = new SharedMemory({ now: () => this.clock.now() });

  worker(): Worker {
    return new Worker(this);
  }
}

class Worker {
  readonly owned: OwnedEndpoints;
  readonly notes: EndpointNotes;
  readonly endpoint = bareEndpoint({ id: "webhook-1", policy: { rateLimit } });
  readonly #clock: ManualClock;

  constructor({ clock, memory }: Scene) {
    this.#clock = clock;
    const nothing = (): void => undefined;
    const log = { debug: nothing, info: nothing, warn: () => assert.fail(), error: nothing };
    this.notes = new EndpointNotes({ clock, telemetry: { log, metrics: {} as never } }, memory.open());
    this.owned = new OwnedEndpoints(clock, { giveBack: nothing }, this.notes);
  }

  /** Acquires the webhook in the same way as `WebhookAcquirer`. */
  async acquire(rate: RateHandover = { kind: "unused" }): Promise<void> {
    const recalled = await this.owned.recall([this.endpoint, undefined]);
    const acquired: AcquiredWebhook = {
      webhookId: "webhook-1",
      ownerEpoch: 7,
      runtime: null,
      rate,
      lanes: [],
    };
    this.owned.acquire(this.endpoint, acquired, recalled);
  }

  /** Ends requests, one second apart. */
  async attempts(results: string): Promise<void> {
    const { circuit, policy } = this.endpoint;
    for (const result of results) {
      const accepted = result === "+";
      recordResult(circuit, policy.circuitBreaker, this.#clock.now(), accepted, null);
      this.notes.counted(this.endpoint, accepted);
      this.#clock.advance(1_000);
      await this.#clock.turn();
    }
  }

  use(tokens: number): void {
    const { bucket } = this.endpoint;
    assert.ok(bucket !== null);
    for (let count = 0; count < tokens; count += 1) {
      tryTake(bucket, this.#clock.now());
      this.notes.rateUsed(this.endpoint);
    }
  }

  get waitMs(): number {
    return peekWaitMs(this.endpoint.bucket ?? createBucket(rateLimit), this.#clock.now());
  }
}

suite("a webhook with a new owner", () => {
  test("it is released although the lease of a delivery was lost, which the next owner frees", async () => {
    const worker = new Scene().worker();
    await worker.acquire();
    const { endpoint, owned } = worker;
    const lane = new Lane({ webhookId: "webhook-1", ordering: "strict", eventType: null }, endpoint);
    endpoint.lanes.set("s", lane);
    lane.flightBegan();
    lane.flightBegan();
    lane.flightLost();
    owned.drop(endpoint);
    assert.deepEqual(owned.readyToLeave(), [], "a request is on its way");
    lane.flightEnded();
    assert.deepEqual(owned.readyToLeave(), [endpoint]);
  });

  test("a circuit near its threshold opens in time although its owner died", async () => {
    const scene = new Scene();
    const [first, second] = [scene.worker(), scene.worker()];
    await first.acquire();
    await first.attempts("---------");
    assert.equal(first.endpoint.circuit.phase, "closed");
    await second.acquire({ kind: "unknown" });
    assert.equal(second.endpoint.circuit.window.failures, 9);
    await second.attempts("-");
    assert.equal(second.endpoint.circuit.phase, "open");
  });

  test("inherited results expire, and are not inherited twice", async () => {
    const scene = new Scene();
    const [first, second, third] = [scene.worker(), scene.worker(), scene.worker()];
    await first.acquire();
    await first.attempts("-----");
    await second.acquire();
    await second.attempts("+++");
    await third.acquire();
    const { window } = third.endpoint.circuit;
    assert.deepEqual([window.successes, window.failures], [3, 5]);
    scene.clock.advance(56_000);
    await third.attempts("+");
    assert.deepEqual([window.successes, window.failures], [4, 0]);
  });

  test("its state at release is its state when it is acquired a moment later", async () => {
    const scene = new Scene();
    const [first, second] = [scene.worker(), scene.worker()];
    await first.acquire();
    const { circuit, policy } = first.endpoint;
    recordResult(circuit, policy.circuitBreaker, scene.clock.now(), false, null);
    first.notes.counted(first.endpoint, false);
    first.owned.drop(first.endpoint);
    scene.clock.advance(1);
    await scene.clock.turn();
    await second.acquire();
    assert.equal(second.endpoint.circuit.window.failures, 1);
  });

  test("WDS-206 starts without state and continues when the shared state is lost or unavailable", async () => {
    const scene = new Scene();
    const [first, second] = [scene.worker(), scene.worker()];
    await first.acquire();
    await first.attempts("---------");
    scene.memory.disconnect();
    await second.acquire({ kind: "unknown" });
    assert.equal(second.endpoint.circuit.window.failures, 0);
    assert.equal(second.waitMs, 1_000, "a bucket of which nobody knows begins empty");
  });

  test("has the remaining part of its rate limit", async () => {
    const cases: [RateHandover, used: number, waitMs: number][] = [
      [{ kind: "unused" }, 0, 0],
      [{ kind: "unused" }, 5, 1_000],
      [{ kind: "unknown" }, 2, 0],
      [{ kind: "unknown" }, 5, 1_000],
      [{ kind: "unknown" }, 0, 1_000],
    ];
    for (const [rate, used, waitMs] of cases) {
      const scene = new Scene();
      const [first, second] = [scene.worker(), scene.worker()];
      await first.acquire();
      first.use(used);
      await first.notes.stop();
      await second.acquire(rate);
      assert.equal(second.waitMs, waitMs, `${rate.kind} after ${used}`);
    }
  });

  test("uses the later of the store and the shared state", async () => {
    const scene = new Scene();
    const [first, second, third] = [scene.worker(), scene.worker(), scene.worker()];
    await first.acquire();
    first.use(5);
    await first.notes.stop();
    await second.acquire({ kind: "full_at", fullAt: scene.clock.now() + 2_000 });
    assert.equal(second.waitMs, 1_000);
    scene.clock.advance(3_000);
    await third.acquire({ kind: "full_at", fullAt: scene.clock.now() + 4_500 });
    assert.equal(third.waitMs, 500);
  });
});
