/** Limits on HTTP calls: what a limited caller receives, and which callers are exempt. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ManualClock } from "../../src/engine/manual-clock.fixture.ts";
import { unknownKeysPerMinute } from "../../src/http/authentication.ts";
import type { ApiOptions } from "../../src/http/server.ts";
import { assertProblem, type Client, createClient, type Reply } from "../scenarios/api/client.fixture.ts";
import { openStandIn, type StandIn } from "./stand-in/open.fixture.ts";

const event = { event_type: "shop.paid", data: { n: 1 } };
const opened: StandIn[] = [];
after(() => Promise.all(opened.map((standIn) => standIn.close())));

/** A server whose limits use a clock that only the test advances. */
async function open(rates: Partial<ApiOptions["callRates"]> = {}) {
  const manual = new ManualClock();
  const limited: string[] = [];
  const standIn = await openStandIn(({ clock, callRates }) => ({
    clock: {
      now: () => clock.now(),
      monotonicMs: () => manual.monotonicMs(),
      schedule: (delayMs, callback) => clock.schedule(delayMs, callback),
      defer: (callback) => clock.defer(callback),
    },
    callRates: { ...callRates, ...rates },
    metrics: { apiCallLimited: (limit) => void limited.push(limit) },
  }));
  opened.push(standIn);
  const admin = createClient({ baseUrl: standIn.baseUrl, key: standIn.adminKey });
  const callerOf = async (role: string, tenantId: string) =>
    admin.withKey(await admin.keyFor(role, tenantId));
  return { admin, callerOf, manual, limited };
}

function assertLimited(reply: Reply, retryAfter: number): void {
  assertProblem(reply, { status: 429, code: "rate_limited" });
  assert.equal(reply.headers.get("retry-after"), String(retryAfter));
}

function read(client: Client): Promise<Reply> {
  return client.get("/v1/events");
}

test("WDS-5 beyond the calls of its key or its tenant a caller gets 429 with Retry-After and RateLimit fields", async () => {
  const { callerOf, manual, limited } = await open({ keyCallsPerMinute: 2, tenantCallsPerMinute: 3 });
  const first = await callerOf("manage", "acme");
  const reply = await read(first);
  assert.equal(reply.status, 200);
  assert.equal(reply.headers.get("ratelimit-policy"), '"key";q=2;w=60, "tenant";q=3;w=60');
  assert.equal(reply.headers.get("ratelimit"), '"key";r=1;t=30, "tenant";r=2;t=20');
  // Failed calls count too and carry limit headers, even if the key lacks the right to make the call.
  const forbidden = await first.get("/v1/tenants");
  assertProblem(forbidden, { status: 403, code: "forbidden" });
  assert.equal(forbidden.headers.get("ratelimit"), '"key";r=0;t=60, "tenant";r=1;t=40');
  const refused = await first.post("/v1/webhooks", { url: "https://example.com/", events: ["*"] });
  assertLimited(refused, 30);
  assert.equal(refused.headers.get("ratelimit"), '"key";r=0;t=60, "tenant";r=1;t=40');
  const second = await callerOf("read", "acme");
  assert.equal((await read(second)).status, 200);
  assertLimited(await read(second), 20);
  assert.deepEqual(limited, ["key", "tenant"]);
  assert.equal((await read(await callerOf("read", "other"))).status, 200);
  manual.advance(30_000);
  const list = await first.get("/v1/webhooks");
  assert.deepEqual([list.status, list.body["data"]], [200, []], "what was refused was done");
});

test("WDS-5 publishing has separate limits; a batch is one call, and a rejected event is not published", async () => {
  const { admin, callerOf } = await open({ keyCallsPerMinute: 1, keyPublishesPerMinute: 2 });
  const caller = await callerOf("manage", "acme");
  assert.equal((await read(caller)).status, 200);
  assertLimited(await read(caller), 60);
  assert.equal((await caller.post("/v1/events/batch", { events: [event, event, event] })).status < 300, true);
  const accepted = await caller.post("/v1/events", event);
  assert.equal(accepted.status, 202);
  assert.equal(accepted.headers.get("ratelimit"), '"publish_key";r=0;t=60');
  assertLimited(await caller.post("/v1/events", event), 30);
  const events = await admin.get("/v1/events?tenant_id=acme");
  assert.equal([...(events.body["data"] ?? [])].length, 4);
});

test("administrators are not limited", async () => {
  const { admin } = await open({ keyCallsPerMinute: 1, tenantCallsPerMinute: 1, keyPublishesPerMinute: 1 });
  for (let count = 0; count < 3; count += 1) {
    const reply = await read(admin);
    assert.deepEqual([reply.status, reply.headers.get("ratelimit")], [200, null]);
    assert.equal((await admin.post("/v1/events", event)).status, 202);
  }
});

test("forged keys are limited by address, and callers with a key are not locked out", async () => {
  const { admin, limited } = await open();
  const forger = admin.withKey("phk_forged");
  for (let done = 0; done < unknownKeysPerMinute; done += 50) {
    const replies = await Promise.all(Array.from({ length: 50 }, () => read(forger)));
    for (const reply of replies) assertProblem(reply, { status: 401, code: "unauthenticated" });
  }
  const refused = await read(forger);
  assertLimited(refused, 1);
  assert.equal(refused.headers.get("ratelimit-policy"), `"unknown_key";q=${unknownKeysPerMinute};w=60`);
  assert.deepEqual(limited, ["unknown_key"]);
  assert.equal((await read(admin)).status, 200);
});
