import { strict as assert } from "node:assert";
import { test, type TestContext } from "node:test";
import { Worker } from "node:worker_threads";
import type { Clock } from "../../ports/clock.ts";
import { noResponseFields, type OutboundRequest, type Transport } from "../../ports/transport.ts";
import { systemClock } from "../../system/clock.ts";
import type { LostSender } from "./sender-thread.ts";
import { createThreadsTransport, slotOf } from "./threads-transport.ts";

const request: OutboundRequest = {
  method: "POST",
  origin: "https://a.test",
  path: "/",
  headers: ["Authorization", "Bearer canary-secret"],
  body: Buffer.from("{}"),
  timeoutMs: 1000,
  http2: false,
  clientCertificate: null,
};
const answered = { kind: "response", status: 200, complete: true };
const stateUnknown = { kind: "failure", category: "network", requestSent: true };

for (const path of ["/throws", "/fills"])
  test(`a sender that ends (${path}) leaves the state of its requests unknown, and another one continues`, async (t) => {
    const { transport, lost } = start(t);
    assert.deepEqual((await transport.send(request)).observation, answered);
    const [ended, beside] = await Promise.all([
      transport.send({ ...request, path }),
      // This request is sent by another thread.
      transport.send({ ...request, origin: otherOrigin }),
    ]);
    assert.deepEqual(ended.observation, stateUnknown);
    assert.deepEqual(beside.observation, answered);
    assert.deepEqual((await transport.send(request)).observation, answered);
    assert.deepEqual(
      lost.map(({ inFlight }) => inFlight),
      [1],
    );
    assert.doesNotMatch(JSON.stringify([ended, lost]), /canary/);
  });

test("a sender that does not answer any more is replaced", async (t) => {
  const clock = new HastyClock();
  const { transport, lost } = start(t, { clock });
  assert.deepEqual((await transport.send(request)).observation, answered);
  clock.isHasty = true;
  const { observation } = await transport.send({ ...request, path: "/hangs" });
  clock.isHasty = false;
  assert.deepEqual(observation, stateUnknown);
  assert.deepEqual((await transport.send(request)).observation, answered);
  assert.deepEqual(lost, [{ cause: "silent", inFlight: 1 }]);
});

test("requests given to a sender that cannot be started were not sent, for lack of a thread", async (t) => {
  const { transport, lost } = start(t, { settings: "broken" });
  const result = await transport.send(request);
  assert.deepEqual(result.observation, { ...stateUnknown, requestSent: false });
  assert.equal(result.shortage, "threads");
  assert.deepEqual(lost, [{ cause: "Error", inFlight: 0 }]);
  const { transport: refused } = start(t, {
    startWorker: () => {
      throw Object.assign(new Error("canary-secret"), { code: "EMFILE" });
    },
  });
  assert.equal((await refused.send(request)).shortage, "descriptors");
});

test("plain HTTP uses the separate transport if there is one", async (t) => {
  const sent: string[] = [];
  const plain: Transport = {
    send: async ({ origin }) => {
      sent.push(origin);
      return { ...unsent, observation: { kind: "response", status: 204, complete: true } };
    },
    openSockets: () => 3,
    close: async () => void sent.push("closed"),
  };
  const { transport } = start(t, { plain });
  assert.deepEqual((await transport.send(request)).observation, answered);
  await transport.send({ ...request, origin: "http://a.test" });
  assert.equal(transport.openSockets(), 3);
  await transport.close();
  assert.deepEqual(sent, ["http://a.test", "closed"]);
});

test("an origin always uses the same thread, and many are spread evenly", () => {
  const counts = [0, 0, 0, 0];
  for (let index = 0; index < 4000; index++) {
    const slot = slotOf(`https://n${index}.receiver.test`, counts.length);
    assert.equal(slotOf(`https://n${index}.receiver.test`, counts.length), slot);
    counts[slot] = (counts[slot] ?? 0) + 1;
  }
  for (const count of counts) assert.ok(count > 800 && count < 1200, String(counts));
});

const unsent = { responseSample: null, fields: noResponseFields, errorMessage: null, durationMs: 0 };
const threads = 2;
const otherOrigin =
  ["https://b.test", "https://c.test", "https://d.test"].find(
    (origin) => slotOf(origin, threads) !== slotOf(request.origin, threads),
  ) ?? "";

/**
 * A clock that, while `isHasty` is true, runs timers without waiting for their delay, one per turn of the event loop.
 */
class HastyClock implements Clock {
  isHasty = false;
  now = systemClock.now;
  monotonicMs = systemClock.monotonicMs;
  defer = systemClock.defer;

  schedule(delayMs: number, callback: () => void): { cancel(): void } {
    return systemClock.schedule(this.isHasty ? 1 : delayMs, callback);
  }
}

function start(
  t: TestContext,
  {
    settings = "works",
    clock = systemClock,
    startWorker = (workerData: unknown) =>
      new Worker(new URL("misbehaving-sender.fixture.ts", import.meta.url), {
        workerData,
        resourceLimits: { maxOldGenerationSizeMb: 24 },
      }),
    plain,
  }: { settings?: string; clock?: Clock; startWorker?: (data: unknown) => Worker; plain?: Transport } = {},
): { readonly transport: Transport; readonly lost: readonly LostSender[] } {
  const lost: LostSender[] = [];
  const transport = createThreadsTransport({
    threads,
    settings,
    clock,
    start: startWorker,
    onLost: (sender) => void lost.push(sender),
    ...(plain !== undefined && { plain }),
  });
  t.after(() => transport.close());
  return { transport, lost };
}
