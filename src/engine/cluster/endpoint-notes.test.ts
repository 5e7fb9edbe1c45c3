import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { SharedMemory } from "../../../test/conformance/shared-state/in-process-shared-state.fixture.ts";
import { createCircuit, recordResult, resetCircuit } from "../../domain/circuit-breaker.ts";
import { standard } from "../../domain/profiles/standard.ts";
import { createBucket, tryTake } from "../../domain/rate-limit.ts";
import type { EndpointNote, SharedState } from "../../ports/shared-state.ts";
import { bareEndpoint } from "../endpoint/bare-endpoint.fixture.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { EndpointNotes } from "./endpoint-notes.ts";

const { circuitBreaker } = standard;

/** One worker with a shared state in memory. Records each batch that the worker sends. */
class Scene {
  readonly clock = new ManualClock();
  readonly memory = new SharedMemory({ now: () => this.clock.now() });
  readonly state: SharedState = this.memory.open();
  readonly batches: (readonly EndpointNote[])[] = [];
  readonly warnings: string[] = [];
  trouble: () => Promise<void> = async () => undefined;
  readonly notes: EndpointNotes;

  constructor() {
    const { clock, state, batches } = this;
    const nothing = (): void => undefined;
    const warn = (_: unknown, text: string): void => void this.warnings.push(text);
    this.notes = new EndpointNotes(
      {
        clock,
        telemetry: { log: { debug: nothing, info: nothing, warn, error: nothing }, metrics: {} as never },
      },
      {
        endpoints: {
          note: async (notes) => {
            batches.push(notes);
            await this.trouble();
            return state.endpoints.note(notes);
          },
          recall: async (queries) => {
            await this.trouble();
            return state.endpoints.recall(queries);
          },
        },
        get isAvailable() {
          return state.isAvailable;
        },
      },
    );
  }

  /** Ends one request, as the settler does. */
  attempt(endpoint: Endpoint, accepted: boolean): void {
    const now = this.clock.now();
    recordResult(endpoint.circuit, circuitBreaker, now, accepted, null);
    this.notes.counted(endpoint, accepted);
  }

  async gather(): Promise<void> {
    this.clock.advance(250);
    await this.clock.turn();
  }

  async known(webhookId: string): Promise<readonly [successes: number, failures: number]> {
    const windowMs = circuitBreaker.windowSizeMs;
    const [found] = await this.state.endpoints.recall([{ webhookId, windowMs }]);
    const sum = (of: "successes" | "failures"): number =>
      (found?.counts ?? []).reduce((total, slice) => total + slice[of], 0);
    return [sum("successes"), sum("failures")];
  }
}

function endpoint(id: string): Endpoint {
  return bareEndpoint({ id, policy: { circuitBreaker }, owned: true, ownerEpoch: 1 });
}

suite("notes of an owner for the next owner", () => {
  test("are collected for a moment and sent for all endpoints together", async () => {
    const scene = new Scene();
    const [a, b] = [endpoint("a"), endpoint("b")];
    scene.attempt(a, false);
    scene.attempt(b, true);
    scene.clock.advance(249);
    assert.deepEqual(scene.batches, []);
    scene.attempt(a, true);
    scene.clock.advance(1);
    await scene.clock.turn();
    assert.equal(scene.batches.length, 1);
    const slice = Math.floor(scene.clock.time / 1_000);
    const rest = { windowMs: 60_000, cleared: false, rateFullAt: null };
    assert.deepEqual(scene.batches[0], [
      { webhookId: "a", ...rest, counts: [{ slice, successes: 1, failures: 1 }] },
      { webhookId: "b", ...rest, counts: [{ slice, successes: 1, failures: 0 }] },
    ]);
    await scene.gather();
    assert.equal(scene.batches.length, 1, "nothing happened since");
    assert.equal(scene.clock.timers, 0);
  });

  test("are sent once, by slices of the window", async () => {
    const scene = new Scene();
    const one = endpoint("a");
    for (let second = 0; second < 5; second += 1) {
      scene.attempt(one, second % 2 === 0);
      scene.clock.advance(1_000);
      await scene.clock.turn();
    }
    assert.deepEqual(await scene.known("a"), [3, 2]);
    assert.equal(
      new Set(scene.batches.flat().flatMap(({ counts }) => counts.map(({ slice }) => slice))).size,
      5,
    );
  });

  test("are cleared with the circuit: closed by probes, manually, or replaced by an order", async () => {
    const scene = new Scene();
    const one = endpoint("a");
    scene.notes.acquired(one);
    for (const forget of [
      () => void resetCircuit(one.circuit, scene.clock.now()),
      () => one.replaceCircuit(createCircuit(scene.clock.now())),
    ]) {
      for (let count = 0; count < 5; count += 1) scene.attempt(one, false);
      await scene.gather();
      assert.deepEqual(await scene.known("a"), [0, 5]);
      forget();
      scene.notes.changed(one);
      scene.attempt(one, true);
      await scene.gather();
      assert.equal(scene.batches.at(-1)?.[0]?.cleared, true);
      assert.deepEqual(await scene.known("a"), [1, 0]);
      forget();
      scene.notes.changed(one);
      await scene.gather();
      assert.deepEqual(await scene.known("a"), [0, 0]);
    }
  });

  test("do not include the result that closes a circuit", async () => {
    const scene = new Scene();
    const one = endpoint("a");
    for (let count = 0; count < 3; count += 1) scene.attempt(one, true);
    await scene.gather();
    recordResult(one.circuit, circuitBreaker, scene.clock.now(), true, null);
    resetCircuit(one.circuit, scene.clock.now());
    scene.notes.counted(one, true);
    await scene.gather();
    assert.deepEqual(await scene.known("a"), [0, 0]);
  });

  test("are not sent for a change of the circuit that clears nothing", async () => {
    const scene = new Scene();
    scene.notes.changed(endpoint("a"));
    await scene.gather();
    assert.deepEqual(scene.batches, []);
  });

  test("include the used part of the rate limit", async () => {
    const scene = new Scene();
    const one = endpoint("a");
    const bucket = createBucket({ requestsPerMinute: 60, burst: 2 });
    one.inheritBucket(bucket);
    tryTake(bucket, scene.clock.now());
    scene.notes.rateUsed(one);
    await scene.gather();
    assert.equal(scene.batches[0]?.[0]?.rateFullAt, bucket.fullAt);
  });

  test("are dropped without growing if they cannot be sent; cleared results stay cleared", async () => {
    const scene = new Scene();
    const one = endpoint("a");
    for (let count = 0; count < 5; count += 1) scene.attempt(one, false);
    await scene.gather();
    resetCircuit(one.circuit, scene.clock.now());
    scene.notes.changed(one);
    scene.trouble = () => Promise.reject(new Error("too slow"));
    await scene.gather();
    assert.equal(scene.warnings.length, 1);
    scene.memory.disconnect();
    for (let second = 0; second < 600; second += 1) {
      scene.attempt(one, true);
      scene.clock.advance(1_000);
      await scene.clock.turn();
    }
    assert.equal(scene.batches.length, 2, "nothing is sent while the state is away");
    scene.memory.reconnect();
    scene.trouble = async () => undefined;
    scene.attempt(one, true);
    await scene.gather();
    assert.deepEqual(scene.batches.at(-1)?.[0]?.counts.length, 1);
    assert.equal(scene.batches.at(-1)?.[0]?.cleared, true);
  });

  test("wait while a call is in flight, and are sent right after it", async () => {
    const scene = new Scene();
    const gate = Promise.withResolvers<undefined>();
    const one = endpoint("a");
    scene.trouble = () => gate.promise;
    scene.attempt(one, true);
    await scene.gather();
    scene.attempt(one, true);
    await scene.gather();
    assert.equal(scene.batches.length, 1);
    gate.resolve(undefined);
    await scene.clock.turn();
    scene.clock.advance(0);
    await scene.clock.turn();
    assert.equal(scene.batches.length, 2);
    assert.deepEqual(await scene.known("a"), [2, 0]);
  });

  test("are sent at once when another worker is about to acquire the endpoint", async () => {
    const scene = new Scene();
    const one = endpoint("a");
    scene.attempt(one, false);
    one.giveUp();
    scene.notes.hurry();
    scene.clock.advance(0);
    await scene.clock.turn();
    assert.equal(scene.batches.length, 1);
    scene.attempt(one, false);
    scene.clock.advance(0);
    await scene.clock.turn();
    assert.deepEqual(await scene.known("a"), [0, 2]);
  });

  test("are dropped once another worker acquired the endpoint", async () => {
    const scene = new Scene();
    const one = endpoint("a");
    one.giveUp();
    one.released();
    scene.attempt(one, false);
    await scene.gather();
    assert.deepEqual(scene.batches, []);
  });

  test("are sent before the end", async () => {
    const scene = new Scene();
    scene.attempt(endpoint("a"), false);
    await scene.notes.stop();
    assert.deepEqual(await scene.known("a"), [0, 1]);
    assert.equal(scene.clock.timers, 0);
  });
});

suite("notes that the next owner receives", () => {
  test("are empty while the shared state is unavailable or fails", async () => {
    const scene = new Scene();
    const one = endpoint("a");
    scene.trouble = () => Promise.reject(new Error("broken"));
    assert.equal((await scene.notes.recall([one])).size, 0);
    scene.memory.disconnect();
    assert.equal((await scene.notes.recall([one])).size, 0);
    assert.equal(scene.warnings.length, 1);
  });

  test("are waited for for at most 250 ms", async () => {
    const scene = new Scene();
    scene.trouble = () => new Promise(() => undefined);
    const recalled = scene.notes.recall([endpoint("a")]);
    scene.clock.advance(250);
    assert.equal((await recalled).size, 0);
    assert.equal(scene.clock.timers, 0);
  });
});
