/** The outbox with its SQLite store, a scripted server and a clock that the test advances. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { ApiError, UnansweredError } from "../../src/client/client-error.ts";
import { Outbox } from "../../src/client/outbox/outbox.ts";
import type { ParkedEntry } from "../../src/client/outbox/outbox-store.ts";
import { createSqliteOutboxStore } from "../../src/client/outbox/sqlite-store.ts";
import type { Problem } from "../../src/client/api-types.ts";

const call = { method: "POST", path: "/v1/events/batch", attempts: 1, idempotencyKey: "k" };
const start = 1_800_000_000_000;
const dayMs = 86_400_000;

interface Sent {
  readonly event_type: string;
  readonly data: { readonly n: number; readonly text?: string };
  readonly idempotency_key: string;
}

type Answer = (events: readonly Sent[]) => readonly object[];

/** Each call to the server gets the next response; the last response is repeated. */
function opened(
  t: TestContext,
  answers: readonly Answer[] = [published],
  known: readonly string[] | "forbidden" = [],
) {
  const database = new DatabaseSync(":memory:");
  t.after(() => database.close());
  const seen = { batches: [] as (readonly Sent[])[], parked: [] as ParkedEntry[], now: start, lookUps: 0 };
  const client = {
    call: async (method: string, _path: string, request: object) => {
      const { raw, query } = request as { raw?: { body: string }; query?: { idempotency_key: string } };
      if (method === "GET") {
        seen.lookUps += 1;
        if (known === "forbidden") throw refusal("forbidden", 403);
        return { data: known.includes(query?.idempotency_key ?? "") ? [{}] : [] };
      }
      const { events } = JSON.parse(raw?.body ?? "{}") as { events: readonly Sent[] };
      seen.batches.push(events);
      const answer = answers[Math.min(seen.batches.length, answers.length) - 1] ?? published;
      return { results: answer(events) };
    },
  };
  const outbox = new Outbox({
    client: client as never,
    store: createSqliteOutboxStore(database),
    time: {
      now: () => seen.now,
      sleep: () => Promise.resolve(),
      deadline: () => new AbortController().signal,
    },
    onParked: (entry) => seen.parked.push(entry),
  });
  const add = (n: number, more: object = {}) => outbox.add({ event_type: "a.b", data: { n, ...more } });
  const order = () => seen.batches.map((batch) => batch.map(({ data }) => data.n));
  return { outbox, seen, add, order };
}

const published: Answer = (events) => events.map(({ idempotency_key: id }) => ({ id }));
const unreachable: Answer = () => {
  throw new UnansweredError("cannot reach it", call, "unreachable", null);
};

function refusal(code: string, status: number, retryAfterMs: number | null = null): ApiError {
  const problem = { type: "", title: "No", detail: `no: ${code}`, status, code } as Problem;
  return new ApiError(problem, call, retryAfterMs);
}

test("events are published in order, with a key and the time at which they were added", async (t) => {
  const { outbox, seen, add, order } = opened(t);
  const ids = [add(1), add(2), add(3)];
  seen.now += 60_000;
  assert.equal(await outbox.flush(), 3);
  assert.deepEqual(order(), [[1, 2, 3]]);
  const [first] = seen.batches[0] ?? [];
  assert.deepEqual(first, {
    event_type: "a.b",
    data: { n: 1 },
    idempotency_key: ids[0],
    timestamp: new Date(start).toISOString(),
  });
  assert.deepEqual(await outbox.counts(), { waiting: 0, parked: 0 });
});

test("while the server is unavailable events wait, and are sent with the same keys in the same order", async (t) => {
  const { outbox, seen, add, order } = opened(t, [unreachable, unreachable, published]);
  add(1);
  add(2);
  await assert.rejects(outbox.flush(), UnansweredError);
  assert.equal(await outbox.flush(), 0, "not due yet");
  seen.now += 1_000;
  await assert.rejects(outbox.flush(), UnansweredError);
  seen.now += 2_000;
  assert.equal(await outbox.flush(), 2);
  assert.deepEqual(order(), [
    [1, 2],
    [1, 2],
    [1, 2],
  ]);
  assert.equal(
    new Set(seen.batches.map((batch) => batch.map((sent) => sent.idempotency_key).join())).size,
    1,
  );
});

test("Retry-After of the server is respected", async (t) => {
  const limited: Answer = () => {
    throw refusal("rate_limited", 429, 20_000);
  };
  const { outbox, seen, add } = opened(t, [limited, published]);
  add(1);
  await assert.rejects(outbox.flush(), { code: "rate_limited" });
  seen.now += 19_999;
  assert.equal(await outbox.flush(), 0);
  seen.now += 1;
  assert.equal(await outbox.flush(), 1);
});

test("an event that the server rejects permanently is parked, reported, and returns corrected", async (t) => {
  const picky: Answer = (events) =>
    events.map(({ data, idempotency_key: id }) =>
      data.n === 2 ? { error: refusal("schema_violation", 400).problem } : { id },
    );
  const { outbox, seen, add, order } = opened(t, [picky, published]);
  const ids = [add(1), add(2), add(3)];
  assert.equal(await outbox.flush(), 2);
  assert.deepEqual(
    seen.parked.map(({ id, error }) => [id, error]),
    [[ids[1], "schema_violation: no: schema_violation"]],
  );
  assert.equal((await outbox.parked())[0]?.id, ids[1]);
  assert.equal(await outbox.requeue(ids[1] ?? "", { event_type: "a.b", data: { n: 22 } }), true);
  assert.equal(await outbox.flush(), 1);
  assert.deepEqual(order(), [[1, 2, 3], [22]]);
});

for (const [code, status] of [
  ["invalid_request", 400],
  ["malformed_json", 400],
  ["unsupported_media_type", 415],
  ["schema_violation", 422],
] as const) {
  test(`a batch rejected with ${status} ${code} parks the faulty event, and publishes the others in order`, async (t) => {
    const strict: Answer = (events) => {
      if (events.some(({ data }) => data.n === 3)) throw refusal(code, status);
      return published(events);
    };
    const { outbox, seen, add } = opened(
      t,
      Array.from({ length: 12 }, () => strict),
    );
    const ids = [1, 2, 3, 4, 5].map((n) => add(n));
    assert.equal(await outbox.flush(), 4);
    assert.deepEqual(
      seen.parked.map(({ id, error }) => [id, error]),
      [[ids[2], `${code}: no: ${code}`]],
    );
    const sent = seen.batches.filter((batch) => batch.every(({ data }) => data.n !== 3));
    assert.deepEqual(
      sent.flatMap((batch) => batch.map(({ data }) => data.n)),
      [1, 2, 4, 5],
    );
    assert.deepEqual(await outbox.counts(), { waiting: 0, parked: 1 });
  });
}

for (const [code, status] of [
  ["unauthenticated", 401],
  ["forbidden", 403],
  ["not_found", 404],
  ["conflict", 409],
] as const) {
  test(`a rejection with ${status} ${code} does not concern the events: they wait`, async (t) => {
    const { outbox, seen, add } = opened(t, [
      () => {
        throw refusal(code, status);
      },
      published,
    ]);
    add(1);
    add(2);
    await assert.rejects(outbox.flush(), { code });
    assert.deepEqual(seen.parked, []);
    seen.now += 60_000;
    assert.equal(await outbox.flush(), 2);
  });
}

test("an event that is in progress elsewhere is tried again", async (t) => {
  const busy: Answer = () => [{ error: refusal("event_in_progress", 409).problem }];
  const { outbox, seen, add } = opened(t, [busy, published]);
  add(1);
  assert.equal(await outbox.flush(), 0);
  seen.now += 1_000;
  assert.equal(await outbox.flush(), 1);
  assert.deepEqual(seen.parked, []);
});

test("a batch that is too large is sent in parts, and a single event that is too large is parked", async (t) => {
  const small: Answer = (events) => {
    if (events.length > 1 || events.some(({ data }) => data.n === 3)) throw refusal("payload_too_large", 413);
    return published(events);
  };
  const { outbox, seen, add } = opened(t, [small]);
  for (const n of [1, 2, 3, 4]) add(n);
  assert.equal(await outbox.flush(), 3);
  assert.deepEqual(
    seen.parked.map(({ event }) => (JSON.parse(event) as Sent).data.n),
    [3],
  );
});

test("one call never contains more than the server accepts", async (t) => {
  const { outbox, seen, add } = opened(t);
  const text = "x".repeat(250_000);
  for (let n = 0; n < 40; n += 1) add(n, { text });
  assert.equal(await outbox.flush(), 40);
  assert.ok(seen.batches.length > 2);
  for (const batch of seen.batches) assert.ok(JSON.stringify(batch).length < 4.1 * 1_024 * 1_024);
});

test("an event tried a day ago is looked up first, because the server may have forgotten its key", async (t) => {
  const kept = ["key-1"];
  const { outbox, seen } = opened(t, [unreachable, published], kept);
  for (const id of ["key-1", "key-2"]) outbox.add({ event_type: "a.b", data: { n: 1 }, idempotency_key: id });
  await assert.rejects(outbox.flush());
  seen.now += dayMs;
  assert.equal(await outbox.flush(), 2);
  const sent = seen.batches.at(-1)?.map(({ idempotency_key: id }) => id);
  assert.deepEqual([sent, seen.lookUps], [["key-2"], 2]);
});

test("a key without read access publishes again: twice is better than never", async (t) => {
  const { outbox, seen, add } = opened(t, [unreachable, published], "forbidden");
  add(1);
  await assert.rejects(outbox.flush());
  seen.now += dayMs;
  assert.equal(await outbox.flush(), 1);
});

test("once started, it publishes new events, and stop waits for those in flight", async (t) => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<unknown>();
  const database = new DatabaseSync(":memory:");
  t.after(() => database.close());
  const { promise: answered, resolve: answer } = Promise.withResolvers<object>();
  const client = {
    call: () => {
      arrive(null);
      return answered;
    },
  };
  const outbox = new Outbox({
    client: client as never,
    store: createSqliteOutboxStore(database),
    pollMs: 3_600_000,
  });
  outbox.start();
  outbox.start();
  outbox.add({ event_type: "a.b", data: {} });
  await arrived;
  const stopped = outbox.stop();
  answer({ results: [{ id: "1" }] });
  await stopped;
  assert.deepEqual(await outbox.counts(), { waiting: 0, parked: 0 });
});
