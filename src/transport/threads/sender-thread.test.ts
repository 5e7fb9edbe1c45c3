import { strict as assert } from "node:assert";
import { test } from "node:test";
import type { Clock, Timer } from "../../ports/clock.ts";
import { noResponseFields, type TransportResult } from "../../ports/transport.ts";
import { readRequests } from "./request-batch.ts";
import { ResultBatchWriter } from "./result-batch.ts";
import type { FromSender, ToSender } from "./sender-messages.ts";
import { type LostSender, SenderThread, type SenderWorker } from "./sender-thread.ts";

test("a slow start continues while requests are returned, and none is sent twice", async () => {
  const scene = new Scene();
  const early = scene.send("/early");
  await scene.seconds(11);
  assert.equal((await early).shortage, "threads");
  const late = scene.send("/late");
  await scene.seconds(5);
  const [worker] = scene.workers as [FakeWorker];
  worker.say("ready");
  assert.deepEqual(worker.paths, ["/late"]);
  worker.answerAll();
  assert.deepEqual((await late).observation, accepted);
  assert.equal(scene.workers.length, 1);
  assert.deepEqual(scene.lost, []);
});

test("a thread that is not ready within five minutes is replaced", async () => {
  const scene = new Scene();
  for (let sent = 0; sent < 31; sent += 1) {
    const result = scene.send("/a");
    await scene.seconds(10);
    assert.equal((await result).shortage, "threads");
  }
  assert.deepEqual(scene.lost, [{ cause: "silent", inFlight: 0 }]);
  assert.deepEqual(
    scene.workers.map(({ terminated }) => terminated),
    [true],
  );
  void scene.send("/b");
  await turn();
  assert.equal(scene.workers.length, 2);
});

test("requests handed over while a thread starts are sent in order once it is ready", async () => {
  const scene = new Scene();
  const sent = [scene.send("/1")];
  await turn();
  sent.push(scene.send("/2"));
  await turn();
  const [worker] = scene.workers as [FakeWorker];
  assert.deepEqual(worker.paths, []);
  worker.say("ready");
  sent.push(scene.send("/3"));
  await turn();
  assert.deepEqual(worker.paths, ["/1", "/2", "/3"]);
  worker.answerAll();
  for (const result of await Promise.all(sent)) assert.deepEqual(result.observation, accepted);
});

test("when threads end one after another, each request fails, is returned, or is left to the next thread", async () => {
  const scene = new Scene();
  const isReady = [false, true, false, false, true, true, false];
  let waiting: Promise<TransportResult> | null = null;
  for (const [index, ready] of isReady.entries()) {
    const given: Promise<TransportResult> = waiting ?? scene.send("/first");
    await turn();
    const worker = scene.workers[index] as FakeWorker;
    if (ready) worker.say("ready");
    waiting = scene.send(`/${index}`);
    worker.end();
    const { observation, shortage }: TransportResult = await given;
    assert.deepEqual({ observation, shortage }, ready ? stateUnknown : short);
  }
  await turn();
  const last = scene.workers.at(-1) as FakeWorker;
  last.say("ready");
  assert.deepEqual(last.paths, [`/${isReady.length - 1}`]);
  last.answerAll();
  assert.deepEqual((await waiting)?.observation, accepted);
  assert.deepEqual(
    scene.lost.map(({ inFlight }) => inFlight),
    isReady.map(Number),
  );
});

test("closing does not wait for a thread that is not ready", async () => {
  const scene = new Scene();
  const sent = scene.send("/a");
  await turn();
  const closed = scene.thread.close();
  await turn();
  assert.equal(scene.workers[0]?.terminated, true);
  await closed;
  assert.deepEqual((await sent).observation, notSent);
  assert.deepEqual(scene.workers[0].paths, []);
  assert.deepEqual(scene.lost, []);
});

const accepted = { kind: "response", status: 200, complete: true } as const;
const notSent = { kind: "failure", category: "network", requestSent: false } as const;
const stateUnknown = { observation: { ...notSent, requestSent: true }, shortage: undefined };
const short = { observation: notSent, shortage: "threads" };

class Scene {
  readonly workers: FakeWorker[] = [];
  readonly lost: LostSender[] = [];
  readonly #clock = new SecondsClock();
  readonly thread = new SenderThread({
    settings: null,
    openSockets: new Int32Array(new SharedArrayBuffer(4)),
    slot: 0,
    clock: this.#clock,
    onLost: (sender) => void this.lost.push(sender),
    start: () => {
      const worker = new FakeWorker();
      this.workers.push(worker);
      return worker;
    },
  });

  send(path: string): Promise<TransportResult> {
    return this.thread.send({
      method: "POST",
      origin: "https://a.test",
      path,
      headers: [],
      body: Buffer.from("{}"),
      timeoutMs: 1_000,
      http2: false,
      clientCertificate: null,
    });
  }

  async seconds(count: number): Promise<void> {
    for (let second = 0; second < count; second += 1) {
      await turn();
      this.#clock.passSecond();
    }
    await turn();
  }
}

/** One turn of the event loop, during which requests are handed over. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** All timers fire when the next second starts. */
class SecondsClock implements Clock {
  #timers = new Set<() => void>();
  #seconds = 0;

  now = (): number => this.#seconds * 1_000;
  monotonicMs = this.now;
  defer = setImmediate;

  schedule(_delayMs: number, callback: () => void): Timer {
    this.#timers.add(callback);
    return { cancel: () => void this.#timers.delete(callback) };
  }

  passSecond(): void {
    this.#seconds += 1;
    const due = this.#timers;
    this.#timers = new Set();
    for (const callback of due) callback();
  }
}

/** Records the messages it receives, and emits messages that the test chooses. */
class FakeWorker implements SenderWorker {
  readonly #posted: ToSender[] = [];
  readonly #listeners = new Map<string, (value: never) => void>();
  terminated = false;

  on(event: string, listener: (value: never) => void): void {
    this.#listeners.set(event, listener);
  }

  postMessage(message: ToSender): void {
    this.#posted.push(message);
  }

  unref(): void {
    // A fake worker does not keep the process alive.
  }

  terminate(): Promise<number> {
    this.terminated = true;
    return Promise.resolve(1);
  }

  say(message: FromSender): void {
    this.#listeners.get("message")?.(message as never);
  }

  end(): void {
    this.#listeners.get("exit")?.(1 as never);
  }

  get paths(): readonly string[] {
    return this.#requests().map(({ request }) => request.path);
  }

  answerAll(): void {
    const results = new ResultBatchWriter();
    for (const { id } of this.#requests()) results.add(id, answered);
    this.say(results.take());
  }

  #requests(): ReturnType<typeof readRequests> {
    return this.#posted.flatMap((message) => (typeof message === "string" ? [] : readRequests(message)));
  }
}

const answered: TransportResult = {
  observation: accepted,
  responseSample: null,
  fields: noResponseFields,
  errorMessage: null,
  durationMs: 1,
};
