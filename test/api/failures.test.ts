/** The API while the engine fails, drains or is slow. These tests need an engine that they control. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { after, test } from "node:test";
import { PosthornError } from "../../src/domain/errors.ts";
import { publishError } from "../../src/engine/publish/draft.ts";
import type { EventService } from "../../src/features/services.ts";
import type { ApiOptions } from "../../src/http/server.ts";
import { StoreUnavailableError } from "../../src/ports/store.ts";
import { assertProblem, type Client, createClient, textOf } from "../scenarios/api/client.fixture.ts";
import { openStandIn, type StandIn } from "./stand-in/open.fixture.ts";

const event = { event_type: "shop.paid", data: { n: 1 } };
const opened: StandIn[] = [];
after(() => Promise.all(opened.map((standIn) => standIn.close())));

async function open(
  change?: (options: ApiOptions) => Partial<ApiOptions>,
): Promise<{ readonly standIn: StandIn; readonly client: Client }> {
  const standIn = await openStandIn(change);
  opened.push(standIn);
  return { standIn, client: createClient({ baseUrl: standIn.baseUrl, key: standIn.adminKey }) };
}

/** A stand-in whose `publish` can be replaced. */
function withPublish(publish: (real: EventService["publish"]) => EventService["publish"]) {
  return open(({ services }) => ({
    services: { ...services, events: { ...services.events, publish: publish(services.events.publish) } },
  }));
}

test("an unexpected error is a 500 without details, logged with the id in the response", async () => {
  const { standIn, client } = await withPublish(() => async () => {
    throw new Error("password=hunter2");
  });
  const reply = await client.post("/v1/events", event);
  const problem = assertProblem(reply, { status: 500, code: "internal_error" });
  assert.ok(!reply.text.includes("hunter2"));
  const requestId = /request id (\S+)\./.exec(textOf(problem["detail"]))?.[1] ?? "missing";
  assert.ok(standIn.errors.some((line) => line.includes(requestId) && line.includes("hunter2")));
});

test("a synchronously thrown error is answered too", async () => {
  const { client } = await withPublish(() => () => {
    throw new PosthornError("rate_limited", "slow down", { retryAfterSeconds: 7 });
  });
  const reply = await client.post("/v1/events", event);
  assertProblem(reply, { status: 429, code: "rate_limited" });
  assert.equal(reply.headers.get("retry-after"), "7");
});

test("an unavailable store is a 503 with Retry-After, for events and for keys", async () => {
  const { client } = await withPublish(() => async () => {
    throw new StoreUnavailableError("disk full");
  });
  const reply = await client.post("/v1/events", event);
  assertProblem(reply, { status: 503, code: "unavailable" });
  assert.equal(reply.headers.get("retry-after"), "1");
  const { client: other } = await open(({ store }) => ({
    store: {
      ...store,
      idempotency: {
        begin: async () => Promise.reject(new StoreUnavailableError("locked")),
        finish: async () => {},
        abandon: async () => {},
        renew: async () => {},
      },
    },
  }));
  const keyed = await other.post("/v1/events", event, { headers: { "idempotency-key": '"k"' } });
  assertProblem(keyed, { status: 503, code: "unavailable" });
});

test("if the store does not say whether it wrote, the response is a 503 with an unknown outcome, and the same key runs again", async () => {
  const unknown = () => new StoreUnavailableError("connection lost", { outcome: "unknown" });
  const failures = [publishError(unknown())];
  const { client } = await withPublish((real) => (scope, input) => {
    const failure = failures.shift();
    return failure === undefined ? real(scope, input) : Promise.reject(failure);
  });
  const headers = { "idempotency-key": `"${randomUUID()}"` };
  const reply = await client.post("/v1/events", event, { headers });
  const problem = assertProblem(reply, { status: 503, code: "unavailable" });
  assert.match(textOf(problem["detail"]), /outcome of the write is unknown.*same idempotency key/);
  assert.doesNotMatch(reply.text, /nothing|not published/i);
  assert.equal(reply.headers.get("retry-after"), "1");
  const again = await client.post("/v1/events", event, { headers });
  assert.deepEqual([again.status, again.headers.get("idempotency-replayed")], [202, null]);

  const { client: other } = await open(({ services }) => ({
    services: {
      ...services,
      webhooks: { ...services.webhooks, create: () => Promise.reject(unknown()) },
    },
  }));
  const made = await other.post("/v1/webhooks", { url: "https://example.com/", events: ["a"] });
  const { detail } = assertProblem(made, { status: 503, code: "unavailable" });
  assert.match(textOf(detail), /did not confirm whether the change was written.*same Idempotency-Key/);
  assert.doesNotMatch(made.text, /nothing/i);
});

test("5xx, 409 and 429 are not stored: the same key runs again", async () => {
  const failures = [
    new Error("boom"),
    new PosthornError("event_in_progress", "x"),
    new PosthornError("rate_limited", "x"),
  ];
  const { client } = await withPublish((real) => (scope, input) => {
    const failure = failures.shift();
    return failure === undefined ? real(scope, input) : Promise.reject(failure);
  });
  const headers = { "idempotency-key": `"${randomUUID()}"` };
  const statuses = [];
  for (let attempt = 0; attempt < 5; attempt++) {
    const reply = await client.post("/v1/events", event, { headers });
    statuses.push(
      `${reply.status}${reply.headers.get("idempotency-replayed") === "true" ? " replayed" : ""}`,
    );
  }
  assert.deepEqual(statuses, ["500", "409", "429", "202", "202 replayed"]);
});

test("IDK-20 IDK-23 while the first call runs, the second gets 409", async () => {
  const running = Promise.withResolvers<null>();
  const started = Promise.withResolvers<null>();
  let calls = 0;
  const { client } = await withPublish((real) => async (scope, input) => {
    calls += 1;
    started.resolve(null);
    if (calls === 1) await running.promise;
    return real(scope, input);
  });
  const headers = { "idempotency-key": `"${randomUUID()}"` };
  const first = client.post("/v1/events", event, { headers });
  await started.promise;
  const second = await client.post("/v1/events", event, { headers });
  running.resolve(null);
  assert.equal((await first).status, 202);
  assertProblem(second, { status: 409, code: "idempotency_key_in_progress" });
  assert.equal(calls, 1);
});

test("a key whose call died with its process is free again after ten seconds, and not before", async () => {
  const died = Promise.withResolvers<never>();
  const started = Promise.withResolvers<null>();
  let time = Date.now();
  let calls = 0;
  // The stand-in's store never renews a claim, as if the process that holds it had died.
  const { client } = await open(({ services, clock }) => ({
    clock: { ...clock, now: () => time },
    services: {
      ...services,
      events: {
        ...services.events,
        publish: (scope, input) => {
          calls += 1;
          started.resolve(null);
          return calls === 1 ? died.promise : services.events.publish(scope, input);
        },
      },
    },
  }));
  const headers = { "idempotency-key": `"${randomUUID()}"` };
  const first = client.post("/v1/events", event, { headers });
  await started.promise;
  time += 9_999;
  assertProblem(await client.post("/v1/events", event, { headers }), {
    status: 409,
    code: "idempotency_key_in_progress",
  });
  time += 1;
  assert.equal((await client.post("/v1/events", event, { headers })).status, 202);
  const repeated = await client.post("/v1/events", event, { headers });
  assert.deepEqual([repeated.status, repeated.headers.get("idempotency-replayed")], [202, "true"]);
  assert.equal(calls, 2);
  died.reject(new StoreUnavailableError("gone"));
  assert.equal((await first).status, 503);
});

test("a response that could not be stored is still sent", async () => {
  const { client } = await open(({ store }) => ({
    store: {
      ...store,
      idempotency: {
        begin: (claim) => store.idempotency.begin(claim),
        abandon: (claim) => store.idempotency.abandon(claim),
        renew: (claims, until) => store.idempotency.renew(claims, until),
        finish: async () => Promise.reject(new StoreUnavailableError("full")),
      },
    },
  }));
  assert.equal(
    (await client.post("/v1/events", event, { headers: { "idempotency-key": '"k"' } })).status,
    202,
  );
});

test("secrets in stored responses are encrypted", async () => {
  const { standIn, client } = await open();
  const headers = { "idempotency-key": '"k"' };
  const webhook = (
    await client.post("/v1/webhooks", { url: "https://example.com/", events: ["a"] }, { headers })
  ).body;
  const key = (
    await client.post("/v1/api-keys", { name: "n", role: "read", tenant_id: "default" }, { headers })
  ).body;
  const rotated = await client.post(`/v1/webhooks/${textOf(webhook["id"])}/secret/rotate`, {}, { headers });
  const kept = JSON.stringify([...standIn.answers.entries.values()]);
  assert.equal(standIn.answers.entries.size, 3);
  for (const shown of [webhook["secret"], key["key"], rotated.body["secret"]]) {
    const secret = textOf(shown);
    assert.ok(secret.length > 20 && !kept.includes(secret.slice(6)));
  }
});

test("a server that is not ready returns 503 with reasons, and is still alive", async () => {
  const { client } = await open(() => ({
    readiness: () => ({ ready: false, reasons: ["migrating"], details: ["wait"] }),
  }));
  const reply = await client.get("/readyz");
  assert.equal(reply.status, 503);
  assert.deepEqual(reply.body, { status: "unavailable", reasons: ["migrating"], details: ["wait"] });
  assert.equal((await client.get("/livez")).status, 200);
});

test("close lets running requests finish", async () => {
  const gate = Promise.withResolvers<null>();
  const started = Promise.withResolvers<null>();
  const { standIn, client } = await withPublish((real) => async (scope, input) => {
    started.resolve(null);
    await gate.promise;
    return real(scope, input);
  });
  const running = client.post("/v1/events", event);
  await started.promise;
  const closed = standIn.api.close(5_000);
  gate.resolve(null);
  const reply = await running;
  assert.equal(reply.status, 202);
  await closed;
  await assert.rejects(client.get("/livez"));
});

test("close cuts requests that still run after the grace time", async () => {
  const started = Promise.withResolvers<null>();
  const { standIn, client } = await withPublish(() => () => {
    started.resolve(null);
    return new Promise(() => {});
  });
  const lost = assert.rejects(client.post("/v1/events", event));
  await started.promise;
  await standIn.api.close(50);
  await lost;
});

test("an invalid id never reaches the services", async () => {
  const { client } = await open(({ services }) => ({
    services: { ...services, webhooks: { ...services.webhooks, get: () => assert.fail("asked") } },
  }));
  for (const id of ["%00", "1", "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3g"]) {
    assertProblem(await client.get(`/v1/webhooks/${id}`), { status: 404, code: "not_found" });
  }
});

test("a caller without a key cannot make the server read a body", async () => {
  const { standIn } = await open();
  const { port } = new URL(standIn.baseUrl);
  const head =
    "POST /v1/events/batch HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n{";
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(Number(port), "127.0.0.1", () => socket.write(head));
    socket.once("data", (data) => {
      socket.destroy();
      resolve(data.toString());
    });
  });
  assert.match(answer, /^HTTP\/1\.1 401 /);
});

test("no response reveals which software the server uses", async () => {
  const { client } = await open();
  for (const path of ["/livez", "/v1/events", "/nothing"]) {
    const { headers } = await client.get(path);
    for (const name of ["server", "x-powered-by", "via"]) assert.equal(headers.get(name), null);
  }
});
