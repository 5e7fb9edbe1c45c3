/** `Idempotency-Key` on every POST route (IDK-13 to 30). */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { assertProblem, textOf } from "./client.fixture.ts";
import type { Client, Reply } from "./client.fixture.ts";

const event = { event_type: "shop.paid", data: { n: 1 } };
const minimal = { url: "https://example.com/hooks", events: ["order.*"] };

export function idempotencySuite(client: () => Client): void {
  const publish = (key: string, body: object = event): Promise<Reply> =>
    client().post("/v1/events", body, { headers: { "idempotency-key": key } });

  test("a repeat gets the first response, and nothing happens twice (IDK-18, 19)", async () => {
    const key = `"${randomUUID()}"`;
    const first = await publish(key);
    assert.equal(first.status, 202, first.text);
    assert.equal(first.headers.get("idempotency-replayed"), null);
    const second = await publish(key);
    assert.equal(second.status, 202);
    assert.equal(second.text, first.text);
    assert.equal(second.headers.get("content-type"), first.headers.get("content-type"));
    assert.equal(second.headers.get("idempotency-replayed"), "true");
  });

  test("a bare key is the same key as the quoted one", async () => {
    const key = randomUUID();
    assert.equal((await publish(`"${key}"`)).text, (await publish(key)).text);
  });

  test("the same key with another body is 422 every time (IDK-22, 25)", async () => {
    const key = `"${randomUUID()}"`;
    await publish(key);
    for (const _ of [1, 2]) {
      const reply = await publish(key, { ...event, data: { n: 2 } });
      const problem = assertProblem(reply, { status: 422, code: "idempotency_key_reused" });
      assert.equal(problem["title"], "Idempotency-Key is already used");
      assertDocumented(client(), reply);
    }
  });

  test("of two concurrent calls one runs and the other gets its response or 409", async () => {
    const key = `"${randomUUID()}"`;
    const replies = await Promise.all(Array.from({ length: 8 }, () => publish(key)));
    const done = replies.filter((reply) => reply.status === 202);
    assert.ok(done.length >= 1);
    assert.equal(new Set(done.map((reply) => reply.text)).size, 1);
    for (const reply of replies.filter((other) => other.status !== 202)) {
      assertProblem(reply, { status: 409, code: "idempotency_key_in_progress" });
      assert.equal(reply.headers.get("retry-after"), "1");
      assertDocumented(client(), reply);
    }
  });

  test("a key is validated before any lookup (IDK-29)", async () => {
    const malformed = [
      "",
      '""',
      '"open',
      "a b",
      '"a" b',
      "'sql'; drop",
      `"${"x".repeat(256)}"`,
      "x".repeat(10_000),
      '"\\n"',
      "?1",
      "@1",
      '"a", "b"',
    ];
    for (const key of malformed) {
      const reply = await publish(key);
      assertProblem(reply, { status: 400, code: "idempotency_key_malformed" });
      assertDocumented(client(), reply);
    }
  });

  test("a key belongs to its holder and its route (IDK-30)", async () => {
    const key = `"${randomUUID()}"`;
    const headers = { "idempotency-key": key };
    const mine = await client().post("/v1/events", event, { headers });
    const other = client().withKey(await client().keyFor("publish", "elsewhere"));
    const theirs = await other.post("/v1/events", event, { headers });
    assert.equal(theirs.status, 202, theirs.text);
    assert.equal(theirs.headers.get("idempotency-replayed"), null);
    assert.notEqual(theirs.body["id"], mine.body["id"]);
    const batch = await client().post("/v1/events/batch", { events: [event] }, { headers });
    assert.equal(batch.headers.get("idempotency-replayed"), null);
  });

  test("a secret that is shown once is shown to the repeat, with all headers", async () => {
    const headers = { "idempotency-key": `"${randomUUID()}"` };
    const first = await client().post("/v1/webhooks", minimal, { headers });
    const second = await client().post("/v1/webhooks", minimal, { headers });
    assert.equal(second.status, 201, second.text);
    assert.equal(second.text, first.text);
    assert.equal(second.headers.get("location"), first.headers.get("location"));
    assert.equal(second.headers.get("cache-control"), "no-store");
  });

  test("errors are replayed too, but an invalid body uses up no key", async () => {
    const headers = { "idempotency-key": `"${randomUUID()}"` };
    assert.equal((await client().post("/v1/webhooks", {}, { headers })).status, 400);
    assert.equal((await client().post("/v1/webhooks", minimal, { headers })).status, 201);
    const missing = `/v1/webhooks/${randomUUID()}/test`;
    const options = { headers: { "idempotency-key": `"${randomUUID()}"` } };
    assertProblem(await client().post(missing, {}, options), { status: 404, code: "not_found" });
    const again = await client().post(missing, {}, options);
    assertProblem(again, { status: 404, code: "not_found" });
    assert.equal(again.headers.get("idempotency-replayed"), "true");
  });
}

/** IDK-21 to 24: an error has a body and a link to the published specification. */
function assertDocumented(client: Client, reply: Reply): void {
  assert.equal(reply.headers.get("link"), '</docs/idempotency>; rel="describedby"; type="text/html"');
  assert.equal(reply.headers.get("content-language"), "en");
  assert.equal(new URL(textOf(reply.body["type"]), client.baseUrl).pathname, "/docs/idempotency");
}
