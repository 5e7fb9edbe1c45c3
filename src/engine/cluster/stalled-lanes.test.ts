import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { LaneKey } from "../../domain/webhook.ts";
import type { ClaimResult } from "../../ports/store/deliveries.ts";
import type { Alarm, Metrics } from "../../ports/telemetry.ts";
import { DispatchScene, type EndpointDraft } from "../dispatch/dispatch-scene.fixture.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Lane } from "../endpoint/lane.ts";
import { ScriptedOwnershipStore } from "./member-scene.fixture.ts";
import { StalledLanes } from "./stalled-lanes.ts";

const nothingLeft: Omit<ClaimResult, "deliveries"> = {
  more: { high: false, normal: false, low: false },
  nextDueAt: null,
};

/** A worker with scripted memory, and a store with unclaimed deliveries in some lanes. */
class Scene {
  readonly dispatch: DispatchScene;
  readonly store = new ScriptedOwnershipStore();
  readonly endpoints = new Map<string, Endpoint>();
  readonly leaving = new Set<Endpoint>();
  /** Overdue unleased deliveries, by lane. */
  readonly due: LaneKey[] = [];
  readonly alarms: Alarm[] = [];
  readonly logged: unknown[] = [];
  worker: number | null = 1;
  asked = 0;
  givenBack = 0;

  constructor(limits: ConstructorParameters<typeof DispatchScene>[0] = {}) {
    this.dispatch = new DispatchScene(limits);
    this.dispatch.claim = (key) => {
      const at = this.due.indexOf(key);
      if (at === -1) return { ...nothingLeft, deliveries: [] };
      this.due.splice(at, 1);
      return { ...nothingLeft, deliveries: [this.dispatch.delivery()] };
    };
    this.store.overdueLanes = () => {
      this.asked += 1;
      return [...this.due];
    };
    const silent = (): void => undefined;
    const stalled = new StalledLanes({
      store: this.store,
      clock: this.dispatch.clock,
      owned: { leaving: this.leaving },
      random: { uniform: () => 0.999, bytes: (count) => new Uint8Array(count) },
      telemetry: {
        log: { debug: silent, info: silent, warn: (fields) => this.logged.push(fields), error: silent },
        metrics: { alarmed: (alarm: Alarm) => this.alarms.push(alarm) } as Partial<Metrics> as Metrics,
      },
      worker: () => this.worker,
      endpoint: (id) => this.endpoints.get(id),
      reread: (lane) => this.dispatch.dispatcher.reread(lane),
      releaseUnowned: () => (this.givenBack += 1),
    });
    stalled.start();
  }

  /** An endpoint whose gates are all open. Its lane has a delivery in the store that its owner has not loaded. */
  add(name: string, draft: EndpointDraft = {}): { readonly endpoint: Endpoint; readonly lane: Lane } {
    const endpoint = this.dispatch.endpoint(name, draft);
    const [lane] = endpoint.lanes.values();
    assert.ok(lane !== undefined);
    this.endpoints.set(name, endpoint);
    this.due.push(lane.key);
    return { endpoint, lane };
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      this.dispatch.clock.advance(500);
      for (let turn = 0; turn < 3; turn += 1) await this.dispatch.clock.turn();
    }
  }
}

/** One period plus the confirming check. */
const boundMs = 17_500;

suite("stalled lanes", () => {
  test("a delivery missing from memory is found within the bound, counted and logged", async () => {
    const scene = new Scene();
    scene.add("forgotten");
    await scene.pass(boundMs);
    assert.deepEqual(scene.dispatch.sent, ["forgotten"]);
    assert.deepEqual(scene.alarms, ["lane_stalled"]);
    assert.deepEqual(scene.logged, [{ webhookId: "forgotten", lane: "n", isServed: true }]);
  });

  test("an ordered lane does not wait for a lease that the store lost, whatever its memory says", async () => {
    const scene = new Scene();
    const { endpoint, lane } = scene.add("strict", { ordering: "strict" });
    await scene.dispatch.publish(endpoint);
    const [flight] = scene.dispatch.flights.splice(0);
    assert.ok(flight !== undefined);
    scene.dispatch.dispatcher.answered(flight, "quick", true);
    scene.dispatch.dispatcher.lost(flight);
    lane.sleepUntil(scene.dispatch.clock.now() + 3_600_000);
    await scene.pass(boundMs);
    assert.deepEqual(scene.dispatch.sent, ["strict", "strict"]);
    assert.deepEqual(scene.alarms, ["lane_stalled"]);
    await scene.dispatch.answer(endpoint);
    await scene.pass(400_000);
    assert.equal(
      lane.inFlight,
      0,
      "when the lease that was forgotten would have ended nothing is counted twice",
    );
  });

  test("a lane is reported once while it stays stalled, and again the next time", async () => {
    const scene = new Scene();
    const { endpoint, lane } = scene.add("again");
    const { claim } = scene.dispatch;
    scene.dispatch.claim = () => ({ ...nothingLeft, deliveries: [] });
    await scene.pass(60_000);
    assert.equal(scene.alarms.length, 1);
    assert.equal(scene.logged.length, 1);
    scene.dispatch.claim = claim;
    await scene.pass(30_000);
    assert.equal(scene.dispatch.sent.length, 1, "it is read again at each look");
    await scene.dispatch.answer(endpoint);
    scene.due.push(lane.key);
    await scene.pass(30_000);
    assert.equal(scene.alarms.length, 2);
  });

  test("a lane served between two checks is not counted", async () => {
    const scene = new Scene();
    scene.add("late");
    await scene.pass(15_500);
    assert.equal(scene.asked, 1);
    scene.due.length = 0;
    await scene.pass(30_000);
    assert.deepEqual(scene.alarms, []);
  });

  test("a lane with a known reason to wait is not counted", async () => {
    const scene = new Scene({ concurrency: 1, waitingRequests: 0 });
    const far = scene.dispatch.clock.now() + 3_600_000;
    const { endpoint: open } = scene.add("open circuit");
    Object.assign(open.circuit, { phase: "open", halfOpenAt: far, forcedOpenUntil: far });
    scene.add("paused").endpoint.pause({ until: far, reason: "failure" }, 0);
    scene.add("waits for a gate").endpoint.sleepUntil(far);
    await scene.dispatch.change(scene.add("disabled").endpoint, { status: "disabled" });
    scene.add("is being settled").lane.settlementBegan();
    scene.add("commits").lane.reserve();
    scene.add("gives back").lane.releaseBegan();
    scene.add("claims").lane.claimBegan();
    const { endpoint: flies } = scene.add("flies", { ordering: "strict" });
    await scene.dispatch.publish(flies);
    const { endpoint: waits } = scene.add("waits for a place");
    await scene.dispatch.publish(waits);
    const { endpoint: leaves } = scene.add("leaves");
    leaves.giveUp();
    scene.leaving.add(leaves);
    scene.due.push({ webhookId: "deleted", ordering: "none", eventType: null });
    await scene.pass(60_000);
    assert.ok(scene.asked > 3);
    assert.deepEqual(scene.alarms, []);
    assert.deepEqual(scene.dispatch.sent, ["flies"]);
    assert.equal(scene.givenBack, 0);
  });

  test("a webhook that the store lists as served here, but is not, is released", async () => {
    const scene = new Scene();
    scene.add("unheld").endpoint.giveUp();
    await scene.pass(boundMs);
    assert.equal(scene.givenBack, 1);
    assert.deepEqual(scene.logged, [{ webhookId: "unheld", lane: "n", isServed: false }]);
  });

  test("a worker that cannot prove its ownership asks nothing", async () => {
    const scene = new Scene();
    scene.add("somebody else's");
    scene.worker = null;
    await scene.pass(60_000);
    assert.equal(scene.asked, 0);
  });
});
