import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../eventually.fixture.ts";
import { Deployment, type DeploymentOptions } from "./deployment.fixture.ts";
import { acceptedTwice, breaches, type Waiting, whatWaits } from "./history.fixture.ts";
import type { PosthornServer } from "./posthorn-server.fixture.ts";
import { type Accepted, SteadyPublisher } from "./publisher.fixture.ts";
import { OutageReceiver } from "./receiver.fixture.ts";
import { standstills } from "./standstills.fixture.ts";
import { addressesOf, adminKey, flakyWebhooks, registerWebhooks, webhookNames } from "./webhooks.fixture.ts";

const eventsPerSecondUsual = 200;
const calmMs = 1_500;
const afterMs = 2_000;
const settledWithinMs = 90_000;
/** If deliveries are still waiting this long after the end of the load, the report lists them. */
const slowMs = 10_000;

export interface Outage {
  /** Causes a failure and repairs it; resolves when it is repaired. */
  readonly happens: () => Promise<void>;
  /** The longest time for which a webhook may receive nothing. */
  readonly standstillMsMax: number;
  /** If guaranteed, the maximum time after the repair until each webhook receives something. */
  readonly servedWithinMsMax?: number;
  /** Maximum number of requests that may be repeated because a process or connection failed. */
  readonly duplicatesMax: number;
}

export interface RigOptions extends DeploymentOptions {
  readonly eventsPerSecond?: number;
}

/** A deployment under a steady load, a receiver that records everything, and the failures that a test causes. */
export class Rig {
  readonly deployment: Deployment;
  readonly receiver: OutageReceiver;
  readonly publisher: SteadyPublisher;
  readonly #webhooks: ReadonlyMap<string, string>;
  readonly #eventsPerSecond: number;
  #isSound = true;

  private constructor(parts: {
    readonly deployment: Deployment;
    readonly receiver: OutageReceiver;
    readonly webhooks: ReadonlyMap<string, string>;
    readonly eventsPerSecond: number;
  }) {
    this.deployment = parts.deployment;
    this.receiver = parts.receiver;
    this.#webhooks = parts.webhooks;
    this.#eventsPerSecond = parts.eventsPerSecond;
    this.publisher = new SteadyPublisher({
      targets: () => this.deployment.apis.flatMap(({ url }) => url ?? []),
      key: adminKey,
      addresses: addressesOf(),
      eventsPerSecond: parts.eventsPerSecond,
      name: randomBytes(4).toString("hex"),
    });
  }

  /** Everything is stopped and removed at the end of the test. */
  static async open(t: TestContext, options: RigOptions = {}): Promise<Rig> {
    const stack = new AsyncDisposableStack();
    t.after(() => stack.disposeAsync());
    const seed = randomBytes(4).toString("hex");
    t.diagnostic(`seed of the receiver ${seed}`);
    const receiver = await OutageReceiver.start({
      seed,
      flaky: { webhooks: flakyWebhooks, share: 0.05 },
      answerDelayMs: 5,
    });
    stack.defer(() => receiver.close());
    const deployment = new Deployment(options);
    stack.defer(() => deployment.close());
    await deployment.start();
    const webhooks = await registerWebhooks(deployment.apis, receiver);
    const { eventsPerSecond = eventsPerSecondUsual } = options;
    const rig = new Rig({ deployment, receiver, webhooks, eventsPerSecond });
    stack.defer(async () => rig.publisher.abandon());
    return rig;
  }

  /**
   * Returns the worker that serves a webhook. It does so while the response to one of the webhook's requests is
   * withheld until `receiver.release()`.
   */
  async busyOwnerOf(name: string): Promise<PosthornServer> {
    const id = [...this.#webhooks].find(([, each]) => each === name)?.[0] ?? "";
    for (;;) {
      const before = await this.deployment.ownerOf(id);
      await this.receiver.hold(name);
      // When a worker joins, webhooks are redistributed. A webhook does not move while one of its requests is in
      // flight.
      const owner = await this.deployment.ownerOf(id);
      if (owner === before) return owner;
      this.receiver.release();
    }
  }

  /** Causes a failure under load, waits until everything is delivered, and compares all records. */
  async during(t: TestContext, outage: Outage): Promise<void> {
    assert.ok(this.#isSound, "an earlier outage did harm");
    try {
      await this.#during(t, outage);
    } catch (error) {
      this.#isSound = false;
      this.publisher.abandon();
      process.stdout.write(this.deployment.troubles());
      throw error;
    }
  }

  async #during(t: TestContext, outage: Outage): Promise<void> {
    const { happens, standstillMsMax, duplicatesMax, servedWithinMsMax = settledWithinMs } = outage;
    const { publisher, receiver } = this;
    const before = {
      accepted: publisher.accepted.size,
      retries: publisher.retries,
      twice: acceptedTwice(receiver),
    };
    publisher.setbacks.clear();
    publisher.slowestAnswerMs = 0;
    const startedMs = performance.now();
    publisher.start();
    const calm = await this.#paceOver(calmMs);
    assert.deepEqual(publisher.refusals, [], "events were refused for good");
    const brokenMs = performance.now();
    await happens();
    const mendedMs = performance.now();
    await eventually("each webhook gets something again", {
      ask: async () => this.#webhooksWithoutArrival(mendedMs),
      holds: (without) => without.length === 0,
      withinMs: settledWithinMs,
    });
    const recoveredMs = performance.now();
    const after = await this.#paceOver(afterMs);
    publisher.stop();
    const stoppedMs = performance.now();
    await this.#settled(t);
    await this.#compare();
    const duplicates = acceptedTwice(receiver) - before.twice;
    const longest = standstills(receiver, { fromMs: startedMs, untilMs: stoppedMs });
    const pace = (calm + after) / 2;
    const setbacks = JSON.stringify(Object.fromEntries(publisher.setbacks));
    t.diagnostic(
      `accepted ${publisher.accepted.size - before.accepted}, offered ${Math.round(pace)}/s outside of the outage, ` +
        `outage ${seconds(mendedMs - brokenMs)}, every webhook served again after ${seconds(recoveredMs - mendedMs)}, ` +
        `settled ${seconds(performance.now() - stoppedMs)} after the load`,
    );
    t.diagnostic(
      `publisher's retries ${publisher.retries - before.retries} ${setbacks}, slowest answer ${seconds(publisher.slowestAnswerMs)}, ` +
        `duplicates at the receiver ${duplicates}, longest standstill of all ${seconds(longest.allMs)}, ` +
        `of one webhook ${seconds(longest.oneMs)} (${longest.one})`,
    );
    assert.deepEqual(publisher.refusals, [], "events were refused for good");
    assert.ok(
      recoveredMs - mendedMs <= servedWithinMsMax,
      `served again only after ${seconds(recoveredMs - mendedMs)}`,
    );
    assert.ok(pace >= 0.9 * this.#eventsPerSecond, `the load was only ${pace} events/s`);
    assert.ok(
      duplicates <= duplicatesMax,
      `${duplicates} duplicates, at most ${duplicatesMax} can be excused`,
    );
    assert.ok(longest.oneMs <= standstillMsMax, `${longest.one} got nothing for ${seconds(longest.oneMs)}`);
  }

  /** Number of events offered per second during that time. */
  async #paceOver(durationMs: number): Promise<number> {
    const { offered } = this.publisher;
    const fromMs = performance.now();
    await sleep(durationMs);
    return (1_000 * (this.publisher.offered - offered)) / (performance.now() - fromMs);
  }

  #webhooksWithoutArrival(sinceMs: number): readonly string[] {
    return webhookNames.filter((name) => {
      const last = this.receiver.arrivals.get(name)?.at(-1);
      return last === undefined || last.atMs < sinceMs;
    });
  }

  async #settled(t: TestContext): Promise<void> {
    const { publisher, deployment } = this;
    const sinceMs = performance.now();
    let slow: Waiting | null = null;
    await eventually("everything offered is accepted", {
      ask: async () => publisher.outstanding,
      holds: (outstanding) => outstanding === 0,
      withinMs: settledWithinMs,
    });
    await eventually("nothing waits any more", {
      ask: () => whatWaits(deployment.postgres.server),
      holds: (waiting) => {
        if (waiting.count > 0 && performance.now() - sinceMs > slowMs) slow ??= waiting;
        return waiting.count === 0;
      },
      withinMs: settledWithinMs,
    });
    if (slow !== null)
      t.diagnostic(`${seconds(slowMs)} after the load these still waited: ${JSON.stringify(slow)}`);
  }

  async #compare(): Promise<void> {
    const accepted: readonly Accepted[] = [...this.publisher.accepted.values()];
    const { receiver } = this;
    const postgres = this.deployment.postgres.server;
    const found = await breaches({ accepted, receiver, postgres, webhooks: this.#webhooks });
    assert.deepEqual(found.slice(0, 20), [], `${found.length} promises were broken`);
  }
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`;
}
