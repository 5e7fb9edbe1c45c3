/**
 * The process runs out of file descriptors. Deliveries must wait without counting as receiver failures, and callers
 * must not be able to exhaust the descriptors.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import type { Receiver } from "../../peers/receiver.ts";
import { eventually } from "../eventually.fixture.ts";
import { PosthornProcess } from "../posthorn-process.fixture.ts";

const descriptors = 90;
const events = 150;
const connectionsMax = 20;

test(`with ${descriptors} descriptors, ${events} deliveries at once all arrive, each at its first attempt`, async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const posthorn = await PosthornProcess.start({
    env: { POSTHORN_CONCURRENCY: "400", POSTHORN_WEBHOOK_CONCURRENCY: "200" },
    wrap: (command) => ["sh", "-c", 'ulimit -n "$0"; exec "$@"', String(descriptors), ...command],
  });
  t.after(() => posthorn.remove());
  const free = await register(posthorn, receiver.url("/free"), "none");
  const lined = await register(posthorn, receiver.url("/lined"), "strict");
  // New endpoints get few slots. Endpoints that have responded may use all slots up to their limit.
  await publish(posthorn, counted.slice(0, 1));
  await receiver.waitUntil(() => receiver.requestCount === 2);
  // Withholds all responses, so that each request keeps its connection until the descriptors run out.
  const gate = Promise.withResolvers<object>();
  receiver.script(() => gate.promise);

  await publish(posthorn, counted.slice(1));
  await eventually("the log says what is missing", {
    ask: async () => posthorn.output,
    holds: (output) => /"shortage":"descriptors".*ulimit -n/.test(output),
  });
  gate.resolve({});
  await receiver.waitUntil(() => receiver.requestCount >= 2 * events);

  const { status, body } = await told(posthorn);
  assert.deepEqual([status, body.reasons], [200, ["local_shortage"]]);
  assert.match(String(body.details), /ulimit -n/);
  const metrics = await (await fetch(`${posthorn.url}/metrics`)).text();
  assert.match(metrics, /^posthorn_requests_postponed_total [1-9]/m);
  assert.match(
    metrics,
    new RegExp(`^webhook_retry_attempt_number_count\\{outcome="accepted"\\} ${2 * events}$`, "m"),
  );
  for (const webhook of [free, lined]) await assertUnmarked(posthorn, webhook);
  assert.deepEqual(numbersOf(receiver, "/free").toSorted(byNumber), counted);
  assert.deepEqual(numbersOf(receiver, "/lined"), counted);
  const errors = posthorn.output.match(/"shortage":/g) ?? [];
  assert.ok(errors.length < 20, `${errors.length} lines`);
  assert.equal(await posthorn.stop(), 0);
});

test(`callers use up to ${connectionsMax} connections and no more`, async (t) => {
  const posthorn = await PosthornProcess.start({
    env: { POSTHORN_MAX_CONNECTIONS: String(connectionsMax) },
  });
  t.after(() => posthorn.remove());
  const sockets = await Promise.all(Array.from({ length: 2 * connectionsMax }, () => open(t, posthorn.port)));
  const left = await eventually("the others are closed", {
    ask: async () => sockets.filter((socket) => !socket.closed),
    holds: ({ length }) => length <= connectionsMax,
  });
  assert.ok(left.length >= connectionsMax / 2, `${left.length} are left`);
  for (const socket of left) socket.destroy();
  await eventually("there is room again", {
    ask: () => told(posthorn).catch(() => null),
    holds: (answer) => answer?.status === 200,
  });
});

const counted = Array.from({ length: events }, (_, n) => n);
const byNumber = (a: number, b: number): number => a - b;

async function publish(posthorn: PosthornProcess, numbers: readonly number[]): Promise<void> {
  const { status, body } = await posthorn.call("POST", "/v1/events/batch", {
    events: numbers.map((n) => ({ event_type: "order.made", data: { n } })),
  });
  assert.equal(status, 202, JSON.stringify(body));
}

async function register(posthorn: PosthornProcess, url: string, ordering: string): Promise<string> {
  const made = await posthorn.call("POST", "/v1/webhooks", {
    url,
    events: ["order.*"],
    signing: { schemes: ["v1"] },
    ordering_guarantee: ordering,
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return (made.body as { id: string }).id;
}

async function assertUnmarked(posthorn: PosthornProcess, webhook: string): Promise<void> {
  const { body } = await posthorn.call("GET", `/v1/webhooks/${webhook}/health`);
  const { circuit_breaker: circuit } = body as { circuit_breaker: Record<string, unknown> };
  assert.equal(circuit["state"], "closed", JSON.stringify(body));
}

function numbersOf(receiver: Receiver, path: string): readonly number[] {
  return receiver.requests
    .filter((request) => request.path === path)
    .map(({ body }) => (JSON.parse(body.toString()) as { data: { n: number } }).data.n);
}

async function told(posthorn: PosthornProcess) {
  const response = await fetch(`${posthorn.url}/readyz`);
  const body = (await response.json()) as { reasons: string[]; details?: string[] };
  return { status: response.status, body };
}

async function open(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").resume();
  t.after(() => socket.destroy());
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}
