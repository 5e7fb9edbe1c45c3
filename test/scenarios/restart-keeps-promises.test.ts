/** Confirmed results survive a restart: keys, events, states, and ownership of the data folder. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { test } from "node:test";
import { startReceiver } from "../peers/receiver.ts";
import { assertProblem, createClient, itemsOf, textOf } from "./api/client.fixture.ts";
import type { Client, Reply } from "./api/client.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { PosthornProcess } from "./posthorn-process.fixture.ts";
import { programEntry } from "../services/program.fixture.ts";

test("used keys are known after signal 9", async (t) => {
  const posthorn = await PosthornProcess.start();
  t.after(() => posthorn.remove());
  const api = clientOf(posthorn);
  const key = `"${randomUUID()}"`;
  const eventKey = randomUUID();
  const publish = (by: {
    readonly header?: string;
    readonly event?: string;
    readonly n?: number;
  }): Promise<Reply> =>
    api.post(
      "/v1/events",
      { event_type: "order.paid", data: { n: by.n ?? 1 }, ...(by.event && { idempotency_key: by.event }) },
      by.header === undefined ? {} : { headers: { "idempotency-key": by.header } },
    );
  const first = await publish({ header: key });
  const firstEvent = await publish({ event: eventKey });
  const webhook = { url: "http://127.0.0.1:1/", events: ["never.sent"] };
  const made = await api.post("/v1/webhooks", webhook, { headers: { "idempotency-key": key } });
  assert.equal(made.status, 201, made.text);
  await posthorn.kill();
  await posthorn.start();

  const repeat = await publish({ header: key });
  assert.equal(repeat.text, first.text);
  assert.equal(repeat.headers.get("idempotency-replayed"), "true");
  assertProblem(await publish({ header: key, n: 2 }), { status: 422, code: "idempotency_key_reused" });
  const duplicate = await publish({ event: eventKey });
  assert.equal(duplicate.status, 202);
  assert.equal(duplicate.body["id"], firstEvent.body["id"]);
  assert.equal(duplicate.body["duplicate"], true);
  assert.equal((await publish({ event: eventKey, n: 2 })).status, 422);
  const again = await api.post("/v1/webhooks", webhook, { headers: { "idempotency-key": key } });
  assert.equal(again.text, made.text, "a secret that is shown once can be read again by who asked for it");
  assert.equal(itemsOf((await api.get("/v1/events")).body["data"]).length, 2);
  assert.equal(itemsOf((await api.get("/v1/webhooks")).body["data"]).length, 1);
});

test("WDS-3 a suspension, a manually opened circuit, and a revoked key survive signal 9", async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const posthorn = await PosthornProcess.start();
  t.after(() => posthorn.remove());
  const api = clientOf(posthorn);
  receiver.script(() => ({ status: 410 }));
  const webhook = async (event: string): Promise<string> =>
    textOf((await api.post("/v1/webhooks", { url: receiver.url(), events: [event] })).body["id"]);
  const gone = await webhook("order.gone");
  const held = await webhook("order.held");
  await api.call("PATCH", `/v1/webhooks/${held}/circuit-breaker`, { body: { action: "force_open" } });
  await api.post("/v1/events", { event_type: "order.gone", data: { n: 1 } });
  await eventually("the suspension", {
    ask: async () => (await api.get(`/v1/webhooks/${gone}`)).body["status"] as unknown,
    holds: (status) => status === "suspended",
  });
  const key = (await api.post("/v1/api-keys", { name: "leaked", role: "read", tenant_id: "default" })).body;
  assert.equal((await api.call("DELETE", `/v1/api-keys/${textOf(key["id"])}`)).status, 204);
  await posthorn.kill();
  await posthorn.start();

  assert.equal((await api.get(`/v1/webhooks/${gone}`)).body["status"], "suspended");
  const health = (await api.get(`/v1/webhooks/${held}/health`)).body["circuit_breaker"];
  assert.equal(health?.["state"], "open");
  assert.notEqual(health?.["forced_open_until"], null);
  assert.equal((await api.withKey(textOf(key["key"])).get("/v1/events")).status, 401);
  const event = textOf(
    (await api.post("/v1/events", { event_type: "order.held", data: { n: 1 } })).body["id"],
  );
  const [delivery] = itemsOf((await api.get(`/v1/events/${event}/deliveries`)).body["data"]);
  assert.equal(delivery?.["status"], "circuit_blocked");
  assert.equal(receiver.requestCount, 1);
});

test("WDS-196 a stop under load ends with status 0 within its grace period, and nothing accepted is lost", async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  receiver.script(() => ({ delayMs: 30 }));
  const posthorn = await PosthornProcess.start({ env: { POSTHORN_SHUTDOWN_GRACE_MS: "5000" } });
  t.after(() => posthorn.remove());
  const api = clientOf(posthorn);
  assert.equal((await api.post("/v1/webhooks", { url: receiver.url(), events: ["*"] })).status, 201);
  const accepted = new Set<string>();
  const publishers = Array.from({ length: 8 }, () => publishUntilRefused(api, accepted));
  await receiver.waitForRequests(50);
  const startedAt = performance.now();
  assert.equal(await posthorn.stop(), 0, posthorn.output);
  assert.ok(performance.now() - startedAt < 55_000);
  await Promise.all(publishers);
  const before = receiver.requestCount;
  await posthorn.start();
  const received = (): Set<unknown> => new Set(receiver.requests.map(({ headers }) => headers["webhook-id"]));
  await receiver.waitUntil(() => [...accepted].every((id) => received().has(id)));
  assert.equal(received().size, receiver.requestCount, "a graceful stop repeats nothing");
  t.diagnostic(
    `${accepted.size} accepted, ${before} delivered before the stop, ${receiver.requestCount} after`,
  );
});

test("WDS-196 requests that outlast the grace period are released, and sent after the next start", async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  receiver.script((_, index) => (index === 0 ? "hang" : {}));
  const posthorn = await PosthornProcess.start({ env: { POSTHORN_SHUTDOWN_GRACE_MS: "300" } });
  t.after(() => posthorn.remove());
  const api = clientOf(posthorn);
  assert.equal((await api.post("/v1/webhooks", { url: receiver.url(), events: ["*"] })).status, 201);
  assert.equal((await api.post("/v1/events", { event_type: "order.paid", data: { n: 1 } })).status, 202);
  await receiver.waitForRequests(1);
  assert.equal(await posthorn.stop(), 0, posthorn.output);
  await posthorn.start();
  // Without the restart, the lease would have lasted for minutes. The second request shows that it was released.
  const [first, second] = await receiver.waitForRequests(2);
  assert.equal(second?.headers["idempotency-key"], first?.headers["idempotency-key"]);
  assert.equal(receiver.requestCount, 2);
});

test("a second server on the same data folder is rejected, and the first continues", async (t) => {
  const posthorn = await PosthornProcess.start();
  t.after(() => posthorn.remove());
  const second = spawn(
    process.execPath,
    [programEntry, "serve", "--dev", "--port", "0", "--data-dir", posthorn.dataDir],
    {
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  let told = "";
  second.stderr.on("data", (chunk: Buffer) => (told += chunk.toString()));
  const [status] = (await once(second, "exit")) as [number | null];
  assert.equal(status, 1, told);
  assert.match(told, /another|already|in use/i);
  assert.ok(told.includes(posthorn.dataDir), told);
  assert.doesNotMatch(told, /\n\s+at /, "no stack for a mistake of the operator");
  const reply = await clientOf(posthorn).post("/v1/events", { event_type: "still.here", data: { n: 1 } });
  assert.equal(reply.status, 202);
});

function clientOf(posthorn: PosthornProcess): Client {
  return createClient({ baseUrl: posthorn.url, key: posthorn.adminKey });
}

/** Publishes until the server stops. Adds the ID of each event that got a 202. */
async function publishUntilRefused(api: Client, accepted: Set<string>): Promise<void> {
  for (let n = 0; ; n += 1) {
    const reply = await api.post("/v1/events", { event_type: "order.paid", data: { n } }).catch(() => null);
    if (reply === null) return;
    if (reply.status === 202) accepted.add(textOf(reply.body["id"]));
    else assert.equal(reply.status, 503, reply.text);
  }
}
