import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { ClaimRequest, ClaimResult, DeliveryStore } from "../../ports/store/deliveries.ts";
import { StoreUnavailableError } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { LaneBuffers } from "./lane-buffers.ts";
import { Lane } from "../endpoint/lane.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { Wakeups } from "../endpoint/wakeups.ts";

const bufferBytesMax = 1_000_000;
const nothing: ClaimResult = {
  deliveries: [],
  more: { high: false, normal: false, low: false },
  nextDueAt: null,
};

/** Buffers over a store whose responses the test releases. */
class Scene {
  readonly clock = new ManualClock();
  /** Running claims, in order. */
  readonly running: {
    readonly requests: readonly ClaimRequest[];
    readonly end: (failure?: Error) => void;
  }[] = [];
  readonly buffers: LaneBuffers;
  roundsOver = 0;

  constructor() {
    const silent = (): void => undefined;
    const log = { debug: silent, info: silent, warn: silent, error: silent };
    this.buffers = new LaneBuffers({
      store: { claim: (requests: readonly ClaimRequest[]) => this.#claim(requests) } as DeliveryStore,
      clock: this.clock,
      wakeups: new Wakeups(this.clock),
      leaseMs: 60_000,
      bufferBytesMax,
      telemetry: { log } as unknown as Telemetry,
      dispatcher: {
        refilled: () => undefined,
        schedulePump: () => {
          this.roundsOver += 1;
          this.buffers.claim();
        },
      },
    });
  }

  lane(id: string): Lane {
    const endpoint = { owned: true } as Endpoint;
    return new Lane({ webhookId: id, ordering: "none", eventType: null }, endpoint);
  }

  async ask(...lanes: readonly Lane[]): Promise<void> {
    for (const lane of lanes) this.buffers.request(lane);
    this.buffers.claim();
    await this.clock.turn();
  }

  async end(index: number, failure?: Error): Promise<void> {
    this.running[index]?.end(failure);
    await this.clock.turn();
  }

  #claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly ClaimResult[]>();
    const end = (failure?: Error): void =>
      failure === undefined ? resolve(requests.map(() => nothing)) : reject(failure);
    this.running.push({ requests, end });
    return promise;
  }
}

suite("refilling lanes", () => {
  test("two calls run at a time; later requests share the next call", async () => {
    const scene = new Scene();
    const lanes = ["a", "b", "c", "d"].map((id) => scene.lane(id));
    for (const lane of lanes) await scene.ask(lane);
    assert.deepEqual(
      scene.running.map(({ requests }) => requests.map(({ lane }) => lane.webhookId)),
      [["a"], ["b"]],
    );
    await scene.end(0);
    assert.deepEqual(
      scene.running[2]?.requests.map(({ lane }) => lane.webhookId),
      ["c", "d"],
    );
    assert.deepEqual(
      lanes.map(({ claiming }) => claiming),
      [false, true, true, true],
    );
  });

  test("a failed call leaves no lane in the claiming state, and the others continue", async () => {
    const scene = new Scene();
    const lanes = ["a", "b", "c"].map((id) => scene.lane(id));
    for (const lane of lanes) await scene.ask(lane);
    await scene.end(0, new StoreUnavailableError("away"));
    await scene.end(1, new Error("a bug"));
    await scene.end(2);
    assert.deepEqual(
      lanes.map(({ claiming }) => claiming),
      [false, false, false],
    );
    assert.equal(scene.roundsOver, 3);
    await scene.ask(...lanes);
    assert.equal(scene.running.length, 4);
  });

  test("lanes that are no longer owned are not claimed, and can be acquired again", async () => {
    const scene = new Scene();
    const [a, b, lost] = ["a", "b", "lost"].map((id) => scene.lane(id));
    assert.ok(a !== undefined && b !== undefined && lost !== undefined);
    await scene.ask(a);
    await scene.ask(b);
    await scene.ask(lost);
    Object.assign(lost.endpoint, { owned: false });
    await scene.end(0);
    assert.equal(scene.running.length, 2);
    assert.equal(lost.claiming, false);
  });

  test("concurrent calls load no more bytes than fit", async () => {
    const scene = new Scene();
    const bytesAsked = (): number =>
      scene.running
        .flatMap(({ requests }) => requests)
        .reduce((sum, { bodyBytesMax }) => sum + bodyBytesMax, 0);
    await scene.ask(scene.lane("a"), scene.lane("b"));
    await scene.ask(scene.lane("c"));
    assert.equal(scene.running.length, 2);
    assert.ok(bytesAsked() <= bufferBytesMax, `${bytesAsked()} bytes`);
    assert.ok(bytesAsked() >= bufferBytesMax * 0.9, "and the room is used");
  });
});
