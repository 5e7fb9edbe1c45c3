import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import {
  connectOperator,
  keysUnder,
  newPrefix,
  openRedis,
  type Operator,
  removeKeys,
  serverTime,
} from "../../../test/conformance/shared-state/redis-state.fixture.ts";
import { eventually } from "../../../test/scenarios/eventually.fixture.ts";
import type { StoreChange } from "../../ports/store/changes.ts";
import { createBucket } from "../../domain/rate-limit.ts";

const windowMs = 60_000;
const publish = {
  fingerprint: null,
  id: "p",
  eventType: "e",
  timestamp: 1,
  sequenceNumber: 1,
  deliveries: 1,
};

async function newWorld(t: TestContext) {
  const prefix = newPrefix();
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const operator = await connectOperator();
  stack.defer(() => operator.destroy());
  const state = await openRedis({ prefix });
  stack.defer(() => removeKeys(operator, prefix));
  stack.defer(() => state.close());
  return { prefix, operator, state };
}

/** Checks the remaining time to live of a key, allowing for the duration of the test. */
function assertAbout(actual: number, whole: number): void {
  assert.ok(actual <= whole + 1 && actual > whole - 5_000, `${actual} ms left instead of ${whole}`);
}

test("every key expires when its meaning ends", async (t) => {
  const { prefix, operator, state } = await newWorld(t);
  const now = await serverTime(operator);
  const { intervalMs } = createBucket({ requestsPerMinute: 7, burst: 5 });
  await state.limits.draw([
    { key: "one", limit: { requestsPerMinute: 7, burst: 5 }, tokens: 1 },
    { key: "all", limit: { requestsPerMinute: 7, burst: 5 }, tokens: 9 },
    { key: "back", limit: { requestsPerMinute: 7, burst: 5 }, tokens: 4 },
    { key: "full", limit: { requestsPerMinute: 7, burst: 5 }, tokens: 2 },
    { key: "none", limit: { requestsPerMinute: 7, burst: 5 }, tokens: 0 },
  ]);
  await state.limits.giveBack([
    { key: "back", limit: { requestsPerMinute: 7, burst: 5 }, tokens: 1 },
    { key: "full", limit: { requestsPerMinute: 7, burst: 5 }, tokens: 2 },
    { key: "unknown", limit: { requestsPerMinute: 7, burst: 5 }, tokens: 2 },
  ]);
  const counts = [{ slice: 1, successes: 1, failures: 1 }];
  await state.endpoints.note([
    { webhookId: "window", windowMs, cleared: false, counts, rateFullAt: null },
    { webhookId: "rate", windowMs, cleared: false, counts: [], rateFullAt: now + 500_000.5 },
    { webhookId: "both", windowMs: 900_000, cleared: false, counts, rateFullAt: now + 500_000 },
    { webhookId: "empty", windowMs, cleared: true, counts: [], rateFullAt: null },
  ]);
  const key = { tenantId: "t", idempotencyKey: "i" };
  await state.publishes.remember([{ key, publish, until: now + 86_400_000 }]);
  const left = new Map<string, number>();
  for (const name of await keysUnder(operator, prefix)) {
    if (name.includes(":rehearsal:")) continue;
    const [, kind = "", entity = ""] = /:(\w+):\{(.*)\}$/.exec(name) ?? [];
    left.set(kind === "publish" ? kind : `${kind} ${entity}`, await operator.pTTL(name));
  }
  const expected = new Map([
    ["limit one", intervalMs],
    ["limit all", 5 * intervalMs],
    ["limit back", 3 * intervalMs],
    ["endpoint window", windowMs],
    ["endpoint rate", 500_000],
    ["endpoint both", 900_000],
    ["publish", 86_400_000],
  ]);
  assert.deepEqual([...left.keys()].toSorted(), [...expected.keys()].toSorted());
  for (const [name, whole] of expected) assertAbout(left.get(name) ?? Number.NaN, whole);
});

test("keys of the rehearsal at opening expire", async (t) => {
  const { prefix, operator } = await newWorld(t);
  for (const name of await keysUnder(operator, prefix)) {
    const leftMs = await operator.pTTL(name);
    assert.ok(leftMs !== -1 && leftMs <= 5_000, `${name}: ${leftMs}`);
  }
  await eventually("no keys", {
    ask: () => keysUnder(operator, prefix),
    holds: ({ length }) => length === 0,
  });
});

test("property: no key stays forever, whatever is done", async (t) => {
  const { prefix, operator, state } = await newWorld(t);
  const now = await serverTime(operator);
  const name = fc.constantFrom("a", "b");
  const slices = fc.array(
    fc.record({ slice: fc.nat(), successes: fc.nat({ max: 3 }), failures: fc.nat({ max: 3 }) }),
    { maxLength: 5 },
  );
  const limit = fc.record({
    requestsPerMinute: fc.double({ min: 1e-6, max: 1e6, noNaN: true }),
    burst: fc.integer({ min: 1, max: 1_000_000 }),
  });
  const draw = fc.record({ key: name, limit, tokens: fc.nat({ max: 2_000_000 }) });
  const act = fc.oneof(
    draw.map((entry) => () => state.limits.draw([entry])),
    draw.map((entry) => () => state.limits.giveBack([entry])),
    fc
      .record({
        webhookId: name,
        windowMs: fc.integer({ min: 1_000, max: 3_600_000 }),
        cleared: fc.boolean(),
        counts: slices,
        rateFullAt: fc.option(fc.integer({ min: -100_000, max: 100_000 }).map((ms) => now + ms)),
      })
      .map((note) => () => state.endpoints.note([note])),
    fc.record({ tenantId: name, idempotencyKey: name, until: fc.integer({ min: -1_000, max: 100_000 }) }).map(
      ({ until, ...key }) =>
        () =>
          state.publishes.remember([{ key, publish, until: now + until }]),
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 30 }), async (acts) => {
      for (const each of acts) await each();
      for (const key of await keysUnder(operator, prefix)) assert.notEqual(await operator.pTTL(key), -1, key);
    }),
    { numRuns: 60 },
  );
  assert.equal(state.isAvailable, true);
});

test("an endpoint that is always busy has a bounded number of fields", async (t) => {
  const { prefix, operator, state } = await newWorld(t);
  let fieldsMax = 0;
  for (let slice = 1_000; slice < 1_500; slice += 1) {
    await state.endpoints.note([
      {
        webhookId: "busy",
        windowMs,
        cleared: false,
        counts: [{ slice, successes: 9, failures: 9 }],
        rateFullAt: 4e12,
      },
    ]);
    fieldsMax = Math.max(fieldsMax, await operator.hLen(`${prefix}:endpoint:{busy}`));
  }
  assert.equal(fieldsMax, 122);
});

test("times are exact to the 1024th of a millisecond, as in the domain", async (t) => {
  const { prefix, operator, state } = await newWorld(t);
  const limit = { requestsPerMinute: 7, burst: 1_000 };
  const { intervalMs } = createBucket(limit);
  await state.limits.draw([{ key: "k", limit, tokens: 500 }]);
  const before = await fullAt(operator, prefix);
  await state.limits.draw([{ key: "k", limit, tokens: 7 }]);
  const after = await fullAt(operator, prefix);
  assert.equal(after - before, 7 * intervalMs * 1_024);
  await state.limits.giveBack([{ key: "k", limit, tokens: 6 }]);
  assert.equal(await fullAt(operator, prefix), before + intervalMs * 1_024);
});

async function fullAt(operator: Operator, prefix: string): Promise<number> {
  const text = await operator.get(`${prefix}:limit:{k}`);
  assert.match(text ?? "", /^\d{16}$/);
  return Number(text);
}

test("foreign values and messages are ignored", async (t) => {
  const { prefix, operator, state } = await newWorld(t);
  const key = { tenantId: "t", idempotencyKey: "i" };
  await state.publishes.remember([{ key, publish, until: Date.now() + 60_000 }]);
  const name = (await keysUnder(operator, prefix)).find((each) => each.includes(":publish:{")) ?? "";
  for (const garbage of [
    "",
    "{",
    "[]",
    "null",
    '[1,"p","e",1,1,1]',
    '[null,"p","e","1",1,1]',
    '{"id":"p"}',
  ]) {
    await operator.set(name, garbage, { expiration: { type: "PX", value: 60_000 } });
    assert.deepEqual(await state.publishes.recall([key]), [null], garbage);
  }
  await operator.hSet(`${prefix}:endpoint:{w}`, {
    window: String(windowMs),
    fullAt: "soon",
    s1: "x",
    s: "1",
    f2: "3",
    other: "4",
  });
  assert.deepEqual(await state.endpoints.recall([{ webhookId: "w", windowMs }]), [
    { counts: [{ slice: 2, successes: 0, failures: 3 }], rateFullAt: null },
  ]);
  const heard: StoreChange[] = [];
  state.news.subscribe((change) => heard.push(change));
  for (const garbage of [
    "",
    "hello",
    "null",
    "[]",
    "{}",
    '{"from":"x"}',
    '{"from":"x","change":{"kind":"else"}}',
    '{"from":"x","change":{"kind":"webhooks"}}',
    '{"from":"x","change":{"kind":"webhooks","webhookIds":[1]}}',
    '{"from":"x","change":{"kind":"tenant_keys","webhookIds":["a"]}}',
    '{"from":"x","change":{"kind":"tenants","more":1}}',
  ]) {
    await operator.publish(`${prefix}:config`, garbage);
  }
  await eventually("the last message", { ask: async () => heard, holds: ({ length }) => length > 0 });
  assert.deepEqual(heard, [{ kind: "config", change: { kind: "tenants" } }]);
});

test("a large batch is one answer, in order", async (t) => {
  const { state } = await newWorld(t);
  const limit = { requestsPerMinute: 1, burst: 3 };
  const draws = Array.from({ length: 2_000 }, (_, index) => ({ key: `k${index % 1_000}`, limit, tokens: 2 }));
  const grants = await state.limits.draw(draws);
  assert.deepEqual(
    grants.map(({ granted }) => granted),
    draws.map((_, index) => (index < 1_000 ? 2 : 1)),
  );
});
