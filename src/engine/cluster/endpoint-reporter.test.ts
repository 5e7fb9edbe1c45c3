import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { EndpointReportRow } from "../../ports/store/ownership.ts";
import { StoreUnavailableError } from "../../ports/store.ts";
import { bareEndpoint } from "../endpoint/bare-endpoint.fixture.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { EndpointReporter } from "./endpoint-reports.ts";

const silent = (): void => undefined;

class Scene {
  readonly clock = new ManualClock();
  readonly owned: Endpoint[] = [];
  readonly flying = new Map<Endpoint, readonly string[]>();
  /** The rows passed in each call. */
  readonly calls: (readonly EndpointReportRow[])[] = [];
  isAway = false;
  answer: Promise<void> = Promise.resolve();
  readonly reporter = new EndpointReporter(
    {
      clock: this.clock,
      telemetry: { log: { debug: silent, info: silent, warn: silent, error: silent }, metrics: {} as never },
    },
    {
      report: async (rows) => {
        if (this.isAway) throw new StoreUnavailableError("away");
        this.calls.push(rows);
        await this.answer;
      },
    },
    () => this.owned,
    () => this.flying,
  );

  constructor() {
    this.reporter.start();
  }

  add(id: string): Endpoint {
    const endpoint = bareEndpoint({ id, ownerEpoch: 7 });
    this.owned.push(endpoint);
    return endpoint;
  }

  send(endpoint: Endpoint, ...deliveries: readonly string[]): void {
    while (endpoint.inFlight < deliveries.length) endpoint.requestBegan();
    while (endpoint.inFlight > deliveries.length) endpoint.requestEnded(true);
    this.flying.set(endpoint, deliveries);
  }

  async rounds(count: number): Promise<void> {
    for (let round = 0; round < count; round += 1) {
      this.clock.advance(500);
      await this.clock.turn();
    }
  }

  /** The last report, by webhook. */
  get last(): Record<string, unknown> {
    const entries = this.calls
      .flat()
      .map(({ webhookId, ownerEpoch, document }) => [
        `${webhookId} ${ownerEpoch}`,
        document === "" ? "nothing" : (JSON.parse(document) as { deliveries: unknown }).deliveries,
      ]);
    return Object.fromEntries(entries) as Record<string, unknown>;
  }
}

suite("reports of an owner about its memory", () => {
  test("are sent with one call for all, and only if changed", async () => {
    const scene = new Scene();
    const [first, second] = [scene.add("a"), scene.add("b")];
    scene.add("quiet");
    scene.send(first, "d1");
    scene.send(second, "d2");
    await scene.rounds(3);
    assert.equal(scene.calls.length, 1);
    assert.deepEqual(scene.last, { "a 7": ["d1"], "b 7": ["d2"] });
    scene.send(first, "d3");
    await scene.rounds(3);
    assert.deepEqual(
      scene.calls[1]?.map(({ webhookId }) => webhookId),
      ["a"],
    );
  });

  test("say once that there is nothing more to report", async () => {
    const scene = new Scene();
    const endpoint = scene.add("a");
    scene.send(endpoint, "d1");
    await scene.rounds(1);
    scene.send(endpoint);
    await scene.rounds(5);
    assert.equal(scene.calls.length, 2);
    assert.deepEqual(scene.last, { "a 7": "nothing" });
  });

  test("are sent again under a new ownership, and not without one", async () => {
    const scene = new Scene();
    const endpoint = scene.add("a");
    scene.send(endpoint, "d1");
    await scene.rounds(1);
    endpoint.released();
    await scene.rounds(2);
    endpoint.acquire(9, null, scene.clock.now());
    await scene.rounds(2);
    assert.deepEqual(scene.last, { "a 7": ["d1"], "a 9": ["d1"] });
    assert.equal(scene.calls.length, 2);
  });

  test("are written later if a write failed, including that there is nothing to report", async () => {
    const scene = new Scene();
    const [ends, begins] = [scene.add("ends"), scene.add("begins")];
    scene.send(ends, "d1");
    await scene.rounds(1);
    scene.isAway = true;
    scene.send(ends);
    scene.send(begins, "d2");
    await scene.rounds(3);
    scene.isAway = false;
    await scene.rounds(1);
    assert.deepEqual(scene.last, { "ends 7": "nothing", "begins 7": ["d2"] });
    await scene.rounds(3);
    assert.equal(scene.calls.length, 2);
  });

  test("end, after the current call", async () => {
    const scene = new Scene();
    const gate = Promise.withResolvers<undefined>();
    scene.answer = gate.promise;
    scene.send(scene.add("a"), "d1");
    await scene.rounds(1);
    let hasStopped = false;
    const stopped = scene.reporter.stop().then(() => (hasStopped = true));
    await scene.rounds(3);
    assert.equal(hasStopped, false);
    gate.resolve(undefined);
    await stopped;
    await scene.rounds(3);
    assert.equal(scene.calls.length, 1);
    assert.equal(scene.clock.timers, 0);
  });
});
