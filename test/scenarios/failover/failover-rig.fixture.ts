import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { leftovers } from "../../services/leftovers.fixture.ts";
import { ownFolder } from "../../services/own-process.fixture.ts";
import { PostgresPair } from "../../services/postgres-pair.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { serverUnderTest } from "../posthorn-process.fixture.ts";
import { acceptedTwice, breaches, whatWaits } from "../outages/history.fixture.ts";
import { PosthornServer } from "../outages/posthorn-server.fixture.ts";
import { type Accepted, type Address, SteadyPublisher } from "../outages/publisher.fixture.ts";
import { OutageReceiver } from "../outages/receiver.fixture.ts";
import { addressesOf, adminKey, registerWebhooks } from "../outages/webhooks.fixture.ts";
import { lossBreaches } from "./losses.fixture.ts";

const eventsPerSecond = 100;
const calmMs = 1_500;
const afterMs = 1_500;
const settledWithinMs = 240_000;
/**
 * Upper limit for the requests of two workers that are in flight, or completed but not yet committed. Usually these are
 * a few dozen.
 */
const inFlightMax = 200;

/** Must promote the standby and make the address point to it. */
export type Failover = (pair: PostgresPair) => Promise<void>;

/** One API, two workers and a scheduler as processes, a pair of database servers, a steady load, and a ledger. */
export class FailoverRig {
  readonly #pair: PostgresPair;
  readonly #receiver: OutageReceiver;
  readonly #servers: readonly PosthornServer[];
  readonly #webhooks: ReadonlyMap<string, string>;
  /** Accepted events of all failovers, except those that may have been lost. */
  #accepted: readonly Accepted[] = [];
  #rounds = 0;

  private constructor(parts: {
    readonly pair: PostgresPair;
    readonly receiver: OutageReceiver;
    readonly servers: readonly PosthornServer[];
    readonly webhooks: ReadonlyMap<string, string>;
  }) {
    this.#pair = parts.pair;
    this.#receiver = parts.receiver;
    this.#servers = parts.servers;
    this.#webhooks = parts.webhooks;
  }

  static async open(t: TestContext): Promise<FailoverRig> {
    const stack = new AsyncDisposableStack();
    t.after(() => stack.disposeAsync());
    const flaky = { webhooks: [], share: 0 };
    const receiver = await OutageReceiver.start({ seed: "failover", flaky, answerDelayMs: 5 });
    stack.defer(() => receiver.close());
    const folder = ownFolder("failover", null);
    stack.defer(() => leftovers.removeFolder(folder));
    const pair = await PostgresPair.start();
    stack.defer(() => pair.remove());
    const servers = ["api", "worker", "worker", "scheduler"].map((role, index) =>
      newServer(`${role} ${index}`, {
        POSTHORN_ROLES: role,
        POSTHORN_DATABASE_URL: pair.url,
        POSTHORN_DATA_DIR: folder,
      }),
    );
    stack.defer(async () => {
      await Promise.all(servers.map((server) => server.kill()));
    });
    await Promise.all(servers.map((server) => server.start()));
    const webhooks = await registerWebhooks(servers.slice(0, 1), receiver);
    return new FailoverRig({ pair, receiver, servers, webhooks });
  }

  /** With a synchronous standby, nothing is lost and only requests in flight are repeated. */
  async lossless(t: TestContext, failover: Failover): Promise<void> {
    await this.#pair.rebuild("synchronous");
    await this.#round(t, async (publisher) => {
      publisher.start();
      await sleep(calmMs);
      await failover(this.#pair);
      await sleep(afterMs);
      return (accepted) => Promise.resolve({ kept: accepted, problems: [] });
    });
  }

  /**
   * The standby is disconnected for some seconds before the primary crashes. Only data that the standby never received
   * may be missing.
   */
  async lossy(t: TestContext, options: { readonly cutOffMs: number }): Promise<void> {
    await this.#pair.rebuild("asynchronous");
    await this.#round(t, async (publisher) => {
      const pair = this.#pair;
      await sleep(calmMs);
      await pair.cutWire();
      publisher.start();
      await sleep(options.cutOffMs);
      await pair.primary.stop("immediate");
      await pair.promote();
      const had = await eventIds(pair);
      const movedAt = Date.now();
      pair.moveAddress();
      await sleep(afterMs);
      return async (accepted) => {
        const has = await eventIds(pair);
        const kept = accepted.filter(({ eventId }) => has.has(eventId));
        t.diagnostic(`lost ${accepted.length - kept.length} of ${accepted.length} that were accepted`);
        return { kept, problems: lossBreaches(accepted, { had, has, movedAt }) };
      };
    });
  }

  async #round(
    t: TestContext,
    run: (publisher: SteadyPublisher) => Promise<(accepted: readonly Accepted[]) => Promise<Outcome>>,
  ): Promise<void> {
    this.#rounds += 1;
    const publisher = this.#newPublisher();
    const twiceBefore = acceptedTwice(this.#receiver);
    try {
      const judge = await run(publisher);
      const recoveredMs = await this.#settled(publisher);
      const { kept, problems } = await judge([...publisher.accepted.values()]);
      this.#accepted = [...this.#accepted, ...kept];
      const found = [...problems, ...(await this.#breaches())];
      const twice = acceptedTwice(this.#receiver) - twiceBefore;
      t.diagnostic(
        `accepted ${publisher.accepted.size}, again ${twice}, ` +
          `publisher's retries ${JSON.stringify(Object.fromEntries(publisher.setbacks))}, ` +
          `settled ${Math.round(recoveredMs)} ms after the load`,
      );
      assert.deepEqual(found.slice(0, 20), [], `${found.length} promises were broken`);
      assert.ok(twice <= inFlightMax, `${twice} came again`);
    } catch (error) {
      publisher.abandon();
      process.stdout.write(this.#servers.map(({ name, troubles }) => `--- ${name}\n${troubles}`).join(""));
      throw error;
    }
  }

  /** Each round uses event types that do not exist in the database yet, so it creates strings and lanes. */
  #newPublisher(): SteadyPublisher {
    const round = this.#rounds;
    const addresses = addressesOf().map((address): Address => {
      const { tenantId, webhook, orderedLane } = address;
      const eventType = `${address.eventType}_${round}`;
      return {
        tenantId,
        webhook,
        eventType,
        orderedLane: orderedLane === webhook ? webhook : orderedLane && eventType,
      };
    });
    return new SteadyPublisher({
      targets: () => this.#servers.flatMap(({ url }) => url ?? []),
      key: adminKey,
      addresses,
      eventsPerSecond,
      name: randomBytes(4).toString("hex"),
    });
  }

  /** Stops the publisher. Resolves with the elapsed time when all events are accepted and no delivery is waiting. */
  async #settled(publisher: SteadyPublisher): Promise<number> {
    publisher.stop();
    const sinceMs = performance.now();
    await eventually("everything offered is accepted", {
      ask: async () => publisher.outstanding,
      holds: (outstanding) => outstanding === 0,
      withinMs: settledWithinMs,
    });
    await eventually("nothing waits any more", {
      ask: () => whatWaits(this.#pair.primary),
      holds: ({ count }) => count === 0,
      withinMs: settledWithinMs,
    });
    assert.deepEqual(publisher.refusals, [], "events were refused for good");
    return performance.now() - sinceMs;
  }

  async #breaches(): Promise<readonly string[]> {
    const evidence = { accepted: this.#accepted, receiver: this.#receiver, webhooks: this.#webhooks };
    const misdirected = this.#receiver.misdirected.map((arrival) => `somebody else's event: ${arrival}`);
    return [...misdirected, ...(await breaches({ ...evidence, postgres: this.#pair.primary }))];
  }
}

interface Outcome {
  /** Those of the accepted events that are still in the history. */
  readonly kept: readonly Accepted[];
  readonly problems: readonly string[];
}

async function eventIds(pair: PostgresPair): Promise<ReadonlySet<string>> {
  const rows = await pair.primary.query("SELECT id::text FROM posthorn.events");
  return new Set(rows.map(({ id }) => String(id)));
}

function newServer(name: string, env: Readonly<Record<string, string>>): PosthornServer {
  return new PosthornServer(name, {
    ...serverUnderTest,
    POSTHORN_DATABASE_CONNECTIONS: "6",
    POSTHORN_ADMIN_KEY: adminKey,
    ...env,
  });
}
