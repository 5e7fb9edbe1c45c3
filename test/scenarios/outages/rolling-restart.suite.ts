/** Every process is replaced under load. Neither callers nor receivers may notice this. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../eventually.fixture.ts";
import { type Accepted, type Address, SteadyPublisher } from "./publisher.fixture.ts";
import { OutageReceiver } from "./receiver.fixture.ts";
import { standstills } from "./standstills.fixture.ts";
import type { Cluster, ClusterProcess } from "../postgres/cluster.fixture.ts";
import { Balancer } from "./balancer.fixture.ts";

export interface RollingRestartOptions {
  readonly mode: string;
  readonly open: (env: Readonly<Record<string, string>>) => Promise<Cluster>;
}

const eventsPerSecond = 100;
/**
 * The longest time for which a webhook may receive nothing if a process starts within two seconds. A busy machine needs
 * more time for everything; the measured startup times show how much more.
 */
const standstillMsMax = 2_000;
const usualStartMs = 2_000;
const calmMs = 1_500;
const settledWithinMs = 60_000;
/** The first webhook is strictly ordered, as its name says. */
const names: readonly string[] = ["strict", ...Array.from({ length: 9 }, (_, index) => `plain${index}`)];
const roles = ["api", "api", "scheduler", "scheduler", "worker", "worker", "worker"] as const;

export function rollingRestart({ mode, open }: RollingRestartOptions): void {
  test(`WDS-196 a rolling restart of everything is unnoticed: ${mode}`, async (t) => {
    const { cluster, receiver, processes, publisher } = await prepare(t, open);
    publisher.start();
    await sleep(calmMs);
    const fromMs = performance.now();
    let slowestStartMs = usualStartMs;
    for (const [index, role] of roles.entries()) {
      const old = processes[index];
      assert.ok(old !== undefined);
      const stoppedMs = performance.now();
      assert.equal(await old.end("SIGTERM"), 0, `${role}\n${old.output}`);
      const startedMs = performance.now();
      const [next] = await cluster.start(role);
      assert.ok(next !== undefined);
      processes[index] = next;
      const [stopMs, startMs] = [startedMs - stoppedMs, performance.now() - startedMs];
      slowestStartMs = Math.max(slowestStartMs, startMs);
      t.diagnostic(`${role} stopped in ${Math.round(stopMs)} ms, replaced in ${Math.round(startMs)} ms`);
      await sleep(calmMs);
    }
    const untilMs = performance.now();
    publisher.stop();
    await settled(cluster, publisher);

    const { accepted, offered, slowestAnswerMs } = publisher;
    const longest = standstills(receiver, { fromMs, untilMs });
    t.diagnostic(
      `${accepted.size} events; slowest answer to a publish ${Math.round(slowestAnswerMs)} ms; ` +
        `longest standstill ${Math.round(longest.oneMs)} ms (${longest.one})`,
    );
    assert.deepEqual(
      { refusals: publisher.refusals, setbacks: [...publisher.setbacks], accepted: accepted.size },
      { refusals: [], setbacks: [], accepted: offered },
    );
    assertDelivered([...accepted.values()], receiver);
    assert.equal(await cluster.count("SELECT count(*) FROM posthorn.attempts"), accepted.size);
    const limitMs = standstillMsMax * (slowestStartMs / usualStartMs);
    assert.ok(longest.oneMs < limitMs, `${longest.one} stood still for ${Math.round(longest.oneMs)} ms`);
  });
}

/** Checks that each event was delivered once, and in order if the webhook is ordered. */
function assertDelivered(accepted: readonly Accepted[], receiver: OutageReceiver): void {
  for (const name of names) {
    const expected = accepted
      .filter(({ address }) => address.webhook === name)
      .toSorted((a, b) => a.sequenceNumber - b.sequenceNumber)
      .map(({ eventId }) => eventId);
    const arrived = (receiver.arrivals.get(name) ?? []).map(({ eventId }) => eventId);
    assert.deepEqual([...new Set(arrived)].toSorted(), expected.toSorted(), `${name}: delivered`);
    const times = Map.groupBy(arrived, (eventId) => eventId).values();
    const repeated = [...times].filter(({ length }) => length > 1).flat();
    assert.deepEqual(repeated, [], `${name}: delivered more than once`);
    if (name === "strict") assert.deepEqual(arrived, expected, "in another order");
  }
}

async function settled(cluster: Cluster, publisher: SteadyPublisher): Promise<void> {
  await eventually("everything offered is accepted", {
    ask: async () => publisher.outstanding,
    holds: (outstanding) => outstanding === 0,
    withinMs: settledWithinMs,
  });
  await eventually("nothing waits any more", {
    ask: () => cluster.count("SELECT count(*) FROM posthorn.queue"),
    holds: (waiting) => waiting === 0,
    withinMs: settledWithinMs,
  });
}

/** Everything is stopped at the end of the test. */
async function prepare(t: TestContext, open: RollingRestartOptions["open"]) {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  // The default grace period. An API process that stops keeps responding for a tenth of it.
  const cluster = await open({ POSTHORN_SHUTDOWN_GRACE_MS: "30000" });
  stack.defer(() => cluster.close());
  const nobody = { webhooks: [], share: 0 };
  const receiver = await OutageReceiver.start({ seed: "unused", flaky: nobody, answerDelayMs: 5 });
  stack.defer(() => receiver.close());
  const processes: ClusterProcess[] = [...(await cluster.start(...roles))];
  const balancer = await Balancer.open(() => processes.flatMap(({ url }) => url ?? []));
  stack.defer(() => balancer.close());
  const [api, other] = processes;
  assert.ok(api !== undefined && other !== undefined);
  for (const name of names) {
    const id = await cluster.addWebhook(api, {
      url: receiver.url(name),
      events: [`${name}.*`],
      ordering_guarantee: name === "strict" ? "strict" : "none",
    });
    // This call makes the other process load the webhook.
    assert.equal((await cluster.call(other, `GET /v1/webhooks/${id}`)).status, 200);
  }
  const publisher = new SteadyPublisher({
    targets: () => [balancer.url],
    key: cluster.adminKey,
    addresses: names.map(addressOf),
    eventsPerSecond,
    name: randomBytes(4).toString("hex"),
  });
  stack.defer(async () => publisher.abandon());
  return { cluster, receiver, processes, publisher };
}

function addressOf(name: string): Address {
  const orderedLane = name === "strict" ? name : null;
  return { tenantId: "default", eventType: `${name}.a`, webhook: name, orderedLane };
}
