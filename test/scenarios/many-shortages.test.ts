// A machine that repeatedly lacks a resource while some requests succeed. The clock is controlled by the test.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../src/engine/manual-clock.fixture.ts";
import { noResponseFields } from "../../src/ports/transport.ts";
import type { OutboundRequest, Transport, TransportResult } from "../../src/ports/transport.ts";
import { type EngineWorld, openEngineWorld } from "./engine-world.fixture.ts";

const webhooks = 10;
const eventsPerRound = 20;
const rounds = 12;
/** Delays are short, and enough attempts are allowed that none is the last one. */
const retry = {
  schedule: { kind: "list", delaysMs: new Array<number>(50).fill(1), jitter: { from: 1, to: 1 } },
  ageMsMax: null,
  timeoutMs: 30_000,
  timeoutGrowthFactor: null,
} as const;

type End = "accepted" | "short" | "unknown";

/**
 * How the requests in flight end. Each round uses one row, and the rows repeat. Afterwards the first row applies again.
 */
const stories: Readonly<Record<string, readonly (readonly End[])[]>> = {
  "sending failed many times for lack of threads": [["short"]],
  "a few get through": [["short", "short", "accepted", "unknown"]],
  "threads end before and while they send": [["accepted", "unknown"], ["short"], ["unknown"], ["short"]],
};

for (const [story, ends] of Object.entries(stories))
  for (const ordering of ["none", "strict"] as const)
    test(`after shortages everything is delivered: ${story}, ordering ${ordering}`, async (t) => {
      const clock = new ManualClock();
      const wire = new Wire();
      const world = await openEngineWorld({ clock, transport: () => wire });
      // Closing the engine waits briefly on this clock, so the clock must advance.
      t.after(() => Promise.all([world.close(), passTime(clock, 100)]));
      for (let index = 0; index < webhooks; index += 1)
        await world.addWebhook({
          url: `http://127.0.0.1:9/${index}`,
          events: [`n${index}.made`],
          retry,
          ordering,
          circuitBreaker: { enabled: false },
        });
      for (let round = 0; round < rounds; round += 1) {
        await publish(world, clock, round);
        wire.endAll(ends[round % ends.length] ?? []);
        await passTime(clock, 3);
      }
      for (let step = 0; step < 200 && wire.accepted.size < rounds * eventsPerRound; step += 1) {
        wire.endAll(["accepted"]);
        await passTime(clock, 5);
      }
      assert.equal(wire.accepted.size, rounds * eventsPerRound, JSON.stringify(world.engine.activity()));
      assert.equal(world.engine.activity().inFlight, 0);
    });

async function publish(world: EngineWorld, clock: ManualClock, round: number): Promise<void> {
  const inputs = Array.from({ length: eventsPerRound }, (_, index) => ({
    eventType: `n${index % webhooks}.made`,
    data: { n: round * eventsPerRound + index },
  }));
  await Promise.all([world.publishMany("default", inputs), passTime(clock, 5)]);
}

/** Advances the clock in steps of 50 ms. Event loop turns in between let writes complete. */
async function passTime(clock: ManualClock, steps: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    for (let turn = 0; turn < 5; turn += 1) await clock.turn();
    clock.advance(50);
  }
  for (let turn = 0; turn < 5; turn += 1) await clock.turn();
}

/** A transport whose requests stay in flight until the test ends all of them together. */
class Wire implements Transport {
  /** The numbers of the events that were accepted. */
  readonly accepted = new Set<number>();
  readonly #open: { readonly number: number; readonly end: (result: TransportResult) => void }[] = [];

  send({ body }: OutboundRequest): Promise<TransportResult> {
    const { data } = JSON.parse(Buffer.from(body).toString()) as { readonly data: { readonly n: number } };
    return new Promise((end) => this.#open.push({ number: data.n, end }));
  }

  endAll(ends: readonly End[]): void {
    for (const [index, { number, end }] of this.#open.splice(0).entries()) {
      const how = ends[index % ends.length] ?? "accepted";
      if (how === "accepted") this.accepted.add(number);
      end(results[how]);
    }
  }

  openSockets(): number {
    return this.#open.length;
  }

  async close(): Promise<void> {
    this.endAll(["unknown"]);
  }
}

const failure = { kind: "failure", category: "network" } as const;
const plain = { responseSample: null, fields: noResponseFields, errorMessage: null, durationMs: 1 };
const results: Readonly<Record<End, TransportResult>> = {
  accepted: { ...plain, observation: { kind: "response", status: 200, complete: true } },
  short: { ...plain, observation: { ...failure, requestSent: false }, shortage: "threads" },
  unknown: { ...plain, observation: { ...failure, requestSent: true } },
};
