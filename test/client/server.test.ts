/** The client with a real server: its guarantees about keys and repeated calls, and one call for each resource. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { after, before, suite, test } from "node:test";
import { ApiError, createClient, UnansweredError } from "../../src/client/index.ts";
import { Outbox } from "../../src/client/outbox/index.ts";
import { createSqliteOutboxStore } from "../../src/client/outbox/sqlite-store.ts";
import type { OpenedApi } from "../scenarios/api/client.fixture.ts";
import { openServer } from "../scenarios/api/running-server.fixture.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";

suite("the client and a server", () => {
  let server: OpenedApi;
  before(async () => {
    server = await openServer();
  });
  after(() => server.close());

  const open = (more: Partial<Parameters<typeof createClient>[0]> = {}) =>
    createClient({ url: server.baseUrl, key: server.adminKey, ...more });
  const paid = (type: string) => ({ event_type: type, data: { n: 1 } });

  /** The server executes the call, but the first responses are lost. */
  const losing = (count: number) => {
    const answers: string[] = [];
    const lossy: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      answers.push(response.headers.get("idempotency-replayed") ?? "first");
      if (answers.length <= count)
        throw new TypeError("fetch failed", { cause: new Error("read ECONNRESET") });
      return response;
    };
    return { answers, client: open({ fetch: lossy, retry: { delayMsMin: 1 } }) };
  };

  test("IDK-12 a publish whose responses were lost takes effect once", async () => {
    const { client, answers } = losing(2);
    const receipt = await client.publish(paid("lost.answer"));
    assert.deepEqual(answers, ["first", "true", "true"]);
    const events = await open()
      .events.list({ event_type: ["lost.answer"] })
      .take(10);
    assert.deepEqual(
      events.map(({ id }) => id),
      [receipt.id],
    );
  });

  test("creating a webhook is safe too: one webhook, and its matching secret", async () => {
    const { client } = losing(1);
    const owner = randomUUID();
    const made = await client.webhooks.create({
      url: "https://example.com/h",
      events: ["a.b"],
      description: owner,
    });
    const found = await open().webhooks.list({ q: owner }).take(10);
    assert.deepEqual(
      found.map(({ id }) => id),
      [made.id],
    );
    const { secret } = await open().webhooks.secret(made.id);
    assert.equal(made.secret, secret);
  });

  test("IDK-4 with a key from the application, all runs are one call", async () => {
    const idempotencyKey = `order "4711" ${randomUUID()}`;
    const first = await open().publish(paid("own.key"), { idempotencyKey });
    const second = await open().publish(paid("own.key"), { idempotencyKey });
    assert.equal(second.id, first.id);
  });

  test("IDK-3 IDK-25 a different call with that key is rejected, and not repeated before it is corrected", async () => {
    const idempotencyKey = randomUUID();
    await open().publish(paid("reused.key"), { idempotencyKey });
    let requests = 0;
    const counting: typeof fetch = (input, init) => {
      requests += 1;
      return fetch(input, init);
    };
    const other = { event_type: "reused.key", data: { n: 2 } };
    const refused = await open({ fetch: counting })
      .publish(other, { idempotencyKey })
      .catch((thrown: unknown) => thrown);
    assert.ok(refused instanceof ApiError);
    assert.deepEqual([refused.code, refused.status, requests], ["idempotency_key_reused", 422, 1]);
    await open().publish(other);
  });

  test("IDK-25 IDK-26 concurrent calls with one key all get the response of the one that ran", async () => {
    const idempotencyKey = randomUUID();
    const client = open({ retry: { delayMsMin: 5, attemptsMax: 10 } });
    const receipts = await Promise.all(
      Array.from({ length: 8 }, () => client.publish(paid("same.time"), { idempotencyKey })),
    );
    assert.equal(new Set(receipts.map(({ id }) => id)).size, 1);
  });

  test("a batch has a result for each event, in order", async () => {
    const results = await open().publishBatch([paid("batch.one"), { event_type: "no spaces", data: {} }]);
    assert.ok(results[0] !== undefined && "id" in results[0]);
    assert.ok(results[1] !== undefined && "error" in results[1]);
    assert.equal(results[1].error.code, "invalid_request");
  });

  test("bytes of any media type are published unchanged", async () => {
    const body = new Uint8Array([0, 255, 10]);
    const { id } = await open().publishRaw({
      event_type: "raw.bytes",
      content_type: "application/x-test",
      body,
    });
    const event = await open().events.get(id);
    assert.deepEqual(
      [event.raw, event.content_type, event.body_base64],
      [true, "application/x-test", Buffer.from(body).toString("base64")],
    );
  });

  test("an error names the code and each field", async () => {
    const client = open();
    const schema = { type: "object", properties: { cents: { type: "integer" } }, required: ["cents"] };
    await client.eventTypes.put("typed.event", { description: "Has a schema", schema });
    const error = await client.publish(paid("typed.event")).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof ApiError);
    assert.equal(error.code, "schema_violation");
    assert.match(error.errors[0]?.field ?? "", /cents/);
    assert.deepEqual((await client.eventTypes.get("typed.event")).schema, schema);
    await client.eventTypes.delete("typed.event");
    await assert.rejects(client.eventTypes.get("typed.event"), { code: "not_found" });
  });

  test("IDK-26 a wrong key is reported at once; an unreachable server after all retries", async () => {
    await assert.rejects(open({ key: "phk_wrong" }).me(), { code: "unauthenticated", status: 401 });
    const client = createClient({
      url: "http://127.0.0.1:1",
      key: "k",
      retry: { attemptsMax: 2, delayMsMin: 1 },
    });
    const error = await client.me().catch((thrown: unknown) => thrown);
    assert.ok(error instanceof UnansweredError);
    assert.equal(error.call.attempts, 2);
  });

  test("webhooks, deliveries, dead letters, operations, tenants and the identity of the key", async () => {
    const client = open();
    assert.equal((await client.me()).role, "admin");
    await client.tenants.put("acme", { name: "Acme" });
    assert.equal((await client.tenants.get("acme")).name, "Acme");
    const { id } = await client.webhooks.create({ url: "https://example.com/x", events: ["walk.*"] });
    assert.equal((await client.webhooks.update(id, { description: "walked" })).description, "walked");
    assert.ok((await client.webhooks.pause(id, { reason: "maintenance" })).pause !== null);
    const receipt = await client.publish(paid("walk.one"));
    const held = await client.events.deliveries(receipt.id).take(5);
    assert.equal(held.length, 1);
    await client.webhooks.resume(id);
    const delivered = await eventually("the delivery is made", {
      ask: () => client.deliveries.get(held[0]?.id ?? ""),
      holds: ({ status }) => status === "success",
    });
    assert.equal(delivered.attempts.length, 1);
    const { url } = await client.deliveries.request({ id: delivered.id, attempt: 1 });
    assert.equal(url, "https://example.com/x");
    const retried = await client.deliveries.retry(delivered);
    assert.notEqual(retried.delivery_id, delivered.id);
    assert.equal((await client.events.replay(receipt.id)).deliveries.length, 1);
    assert.equal(
      (await client.events.matches(receipt.id).take(300)).find((match) => match.sent)?.webhook_id,
      id,
    );
    assert.deepEqual(await client.deadLetters.list({ webhook_id: [id] }).take(1), []);
    const started = await client.deadLetters.retryBatch({ filter: { webhook_ids: [id] } });
    const ended = await client.operations.wait(started.batch_operation_id ?? "", { pollMs: 10 });
    assert.equal(ended.status, "completed");
    assert.equal((await client.webhooks.health(id)).webhook_id, id);
    await client.webhooks.delete(id);
    await assert.rejects(client.webhooks.get(id), { code: "not_found" });
  });

  test("a listing goes through all pages", async () => {
    const client = open();
    for (let n = 0; n < 5; n += 1) await client.publish(paid("many.pages"));
    const ids = new Set<string>();
    for await (const { id } of client.events.list({ event_type: ["many.pages"], limit: 2 })) ids.add(id);
    assert.equal(ids.size, 5);
  });

  test("a stream reports a delivery while it happens, and ends on request", async () => {
    const client = open();
    const { id } = await client.webhooks.create({ url: "https://example.com/live", events: ["live.*"] });
    const stop = new AbortController();
    const stream = client.stream({ topics: [`deliveries:webhook=${id}`], signal: stop.signal });
    const first = stream.next();
    // An event published before the stream is open is not sent, so a later event is needed too.
    let isHeard = false;
    const publishing = eventually("the stream tells of a delivery", {
      ask: () => client.publish(paid("live.one")),
      holds: () => isHeard,
    });
    const { value } = await first;
    isHeard = true;
    await publishing;
    assert.equal(value?.name, "deliveries");
    assert.ok(Array.isArray(value?.data["rows"]));
    stop.abort();
    assert.equal((await stream.next()).done, true);
    await client.webhooks.delete(id);
  });

  test("an outbox publishes each event once, even if the response of the server is lost", async (t) => {
    const database = new DatabaseSync(":memory:");
    t.after(() => database.close());
    const { client } = losing(6);
    let now = Date.now();
    const time = {
      now: () => now,
      sleep: async () => undefined,
      deadline: (ms: number) => AbortSignal.timeout(ms),
    };
    const outbox = new Outbox({ client, store: createSqliteOutboxStore(database), time });
    const ids = [1, 2, 3].map((n) => outbox.add({ event_type: "out.box", data: { n } }));
    await assert.rejects(outbox.flush(), UnansweredError);
    now += 60_000;
    assert.equal(await outbox.flush(), 3);
    const events = await open()
      .events.list({ event_type: ["out.box"] })
      .take(10);
    assert.deepEqual(
      events.map((event) => event.idempotency_key),
      ids.toReversed(),
    );
  });
});
