import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemoryDeduplicationStore } from "../../src/receiver/stores/memory.ts";
import { endpointWith } from "./endpoint.fixture.ts";
import { textOf } from "./messages.fixture.ts";

const withKey = (value: string | undefined) => ({ headers: { "idempotency-key": value } });

test("EDS-7.2-1 EDS-11.5-1 TS16-84 TS16-86 IDK-17 IDK-18 IDK-19 a repeat gets the stored response and runs nothing", async () => {
  const { send, seen } = endpointWith({ handler: () => ({ status: 201, body: { run: seen.runs } }) });
  const first = await send();
  assert.deepEqual(await send(), first);
  assert.equal(first.status, 201);
  assert.deepEqual([seen.runs, seen.incidents], [1, []]);
});

test("IDK-19 an error response of a handler is repeated as well", async () => {
  const { send, seen } = endpointWith({ handler: () => ({ status: 422, body: "no" }) });
  assert.deepEqual(await send(), await send());
  assert.equal(seen.runs, 1);
});

test("a status for duplicates does not turn an error into success", async () => {
  const { send } = endpointWith({ handler: () => ({ status: 400 }), statuses: { duplicate: 200 } });
  assert.deepEqual([(await send()).status, (await send()).status], [400, 400]);
});

test("IDK-20 IDK-23 IDK-25 while the first is running it is 409 with Retry-After, and later its response", async () => {
  const { promise, resolve } = Promise.withResolvers<{ body: string }>();
  const running = Promise.withResolvers<null>();
  const { send, seen } = endpointWith({
    handler: () => {
      running.resolve(null);
      return promise;
    },
  });
  const first = send();
  // The keys are hashed on threads, so either may finish first.
  await running.promise;
  const second = await send();
  assert.equal(second.status, 409);
  assert.equal(second.headers["retry-after"], "30");
  assert.match(textOf(second), /A request is outstanding for this Idempotency-Key/);
  resolve({ body: "done" });
  assert.equal((await first).body, "done");
  assert.equal((await send()).body, "done");
  assert.equal(seen.runs, 1);
});

test("IDK-8 IDK-16 IDK-22 IDK-24 IDK-25 a known key with another body is 422 every time, and an incident", async () => {
  const { send, seen } = endpointWith({ documentationUrl: "https://docs.example/keys" });
  await send();
  for (let count = 0; count < 2; count += 1) {
    const answer = await send({ body: '{"order":2}' });
    assert.equal(answer.status, 422);
    assert.match(textOf(answer), /https:\/\/docs\.example\/keys/);
    assert.equal(answer.headers["link"], '<https://docs.example/keys>; rel="describedby"; type="text/html"');
  }
  assert.deepEqual(
    seen.incidents.map(({ kind, producer }) => [kind, producer]),
    [
      ["key_reused", "shop"],
      ["key_reused", "shop"],
    ],
  );
  assert.equal(seen.runs, 1);
});

test("IDK-9 the fingerprint is the body: a new timestamp does not create another message", async () => {
  const { send, seen } = endpointWith();
  await send();
  seen.now += 100_000;
  const repeated = await send({ headers: { "x-time": String(seen.now / 1_000) } });
  assert.deepEqual([repeated.status, seen.runs], [204, 1]);
});

test("EDS-7.1-2 EDS-9.4-5 EDS-9.4-8 IDK-30 the same key of another producer or at another path is another message", async () => {
  const { send, seen } = endpointWith({ handler: ({ producer }) => ({ body: producer }) });
  assert.equal((await send()).body, "shop");
  assert.equal((await send({ headers: { "x-producer": "other" } })).body, "other");
  await send({ url: "/hooks/2" });
  assert.equal(seen.runs, 3);
  await send({ url: "https://example.com/hooks?access_token=new" });
  assert.equal(seen.runs, 3, "neither host nor query make another endpoint");
});

test("IDK-15 IDK-21 a missing key is 400 with a link to documentation, if one is required", async () => {
  const { send, seen } = endpointWith();
  const answer = await send(withKey(undefined));
  assert.equal(answer.status, 400);
  const problem = JSON.parse(textOf(answer)) as { type: string; title: string };
  assert.equal(problem.title, "Idempotency-Key is missing");
  assert.match(problem.type, /^https:/);
  assert.match(String(answer.headers["link"]), /rel="describedby"/);
  assert.equal(seen.runs, 0);
});

test("a message with a signed time runs without a key, if none is required", async () => {
  const { send, seen } = endpointWith({ deduplication: { isKeyRequired: false } });
  assert.equal((await send(withKey(undefined))).status, 204);
  const unprotected = { headers: { "idempotency-key": undefined, "x-time": undefined } };
  assert.equal((await send(unprotected)).status, 400);
  assert.equal(seen.runs, 1);
});

test("IDK-2 IDK-29 invalid keys are 400 before any lookup", async () => {
  const store = createMemoryDeduplicationStore();
  const untouched = { ...store, claim: () => assert.fail("looked up") };
  const { send, seen } = endpointWith({ deduplication: { store: untouched, keySyntax: "strict" } });
  const malformed = [
    "",
    '""',
    '"a',
    '"\u00e4"',
    "?1",
    "bare-key",
    `"${"x".repeat(256)}"`,
    `"${"x".repeat(10_000)}"`,
    '"a\u0000b"',
    "x; DROP TABLE y",
  ];
  for (const value of malformed) assert.equal((await send(withKey(value))).status, 400, value);
  assert.deepEqual([seen.runs, seen.errors], [0, []]);
});

test("IDK-2 quoted and bare forms are one key in lenient mode", async () => {
  const lenient = endpointWith();
  await lenient.send(withKey('"0190a4d5-1c9e"'));
  await lenient.send(withKey("0190a4d5-1c9e"));
  assert.equal(lenient.seen.runs, 1);
  assert.equal((await lenient.send(withKey("two words"))).status, 400);
});

test("IDK-28 keys outside the published format are 400", async () => {
  const { send } = endpointWith({ deduplication: { isAcceptableKey: (key) => key.startsWith("key-") } });
  assert.equal((await send()).status, 204);
  assert.equal((await send(withKey('"other"'))).status, 400);
});

test("IDK-32 the key may come from another header, from the signed id or from the body", async () => {
  const keys: (string | null)[] = [];
  const { send } = endpointWith({
    handler: ({ key }) => void keys.push(key),
    deduplication: {
      keyHeaderAliases: ["X-Idempotency-Key"],
      keySources: [
        "idempotency-key",
        "message-id",
        ({ body }) => (JSON.parse(new TextDecoder().decode(body)) as { id?: string }).id ?? null,
      ],
    },
  });
  const none = { "idempotency-key": undefined };
  await send({ headers: { ...none, "x-idempotency-key": "alias", "x-id": "id" } });
  await send({ headers: { ...none, "x-id": "id-2" } });
  await send({ headers: none, body: '{"id":"in-body"}' });
  await send({ headers: { "x-id": "id-3" } });
  assert.deepEqual(keys, ["alias", "id-2", "in-body", "key-1"]);
});

test("TS16-86 a captured message does not run again under a new, unsigned Idempotency-Key", async () => {
  const { send, seen } = endpointWith();
  const signed = { "x-id": "message-1" };
  await send({ headers: signed });
  assert.equal((await send({ headers: { ...signed, "idempotency-key": '"forged"' } })).status, 204);
  assert.equal(seen.runs, 1);
  // The forged key was not stored, so an authentic message can still use it.
  await send({ headers: { "idempotency-key": '"forged"', "x-id": "message-2" }, body: '{"order":2}' });
  assert.equal(seen.runs, 2);
});

test("a message that failed may run again", async () => {
  const outcomes = [
    () => {
      throw new Error("down");
    },
    () => ({ status: 503 as const }),
    () => ({ status: 429 as const }),
    () => undefined,
  ];
  const { send, seen } = endpointWith({ handler: () => outcomes[seen.runs - 1]?.() });
  const statuses = [await send(), await send(), await send(), await send(), await send()];
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [500, 503, 429, 204, 204],
  );
  assert.equal(seen.runs, 4);
});

test("EDS-7.2-4 EDS-7.2-5 keys are stored for their time, by default for days, and no longer", async () => {
  const { send, seen } = endpointWith({ toleranceSeconds: null });
  await send();
  seen.now += 86_400_000 - 60_000;
  await send();
  seen.now += 6 * 86_400_000;
  await send();
  assert.equal(seen.runs, 1);
  seen.now += 60_000;
  await send();
  assert.equal(seen.runs, 2);
});

test("EDS-7-1 TS16-82 TS16-83 EDS-11.5-2 a message outside the tolerance is rejected, and counts as an incident", async () => {
  const { send, seen } = endpointWith({ deduplication: false });
  const dated = async (seconds: number) =>
    (await send({ headers: { "x-time": String(seen.now / 1_000 + seconds) } })).status;
  assert.deepEqual([await dated(-300), await dated(300)], [204, 204]);
  assert.deepEqual([await dated(-301), await dated(301)], [401, 401]);
  assert.deepEqual(
    seen.incidents.map(({ kind, cause }) => [kind, cause]),
    [
      ["stale_timestamp", "too_old"],
      ["stale_timestamp", "too_new"],
    ],
  );
});

test("EDS-11.5-4 without deduplication a message must have a signed time", async () => {
  const { send, seen } = endpointWith({ deduplication: false });
  assert.equal((await send({ headers: { "x-time": undefined } })).status, 500);
  assert.match(String(seen.errors[0]), /does not sign a time/);
  assert.equal(seen.runs, 0);
});

test("TS16-85 EDS-11.5-2 EDS-11.5-4 settings that allow replays are rejected at startup", () => {
  const refused = { code: "misconfigured" };
  assert.throws(() => endpointWith({ deduplication: false, toleranceSeconds: null }), refused);
  assert.throws(() => endpointWith({ deduplication: { retentionMs: 300_000 } }), refused);
  // A message dated 300 s in the future stays valid for 600 s.
  assert.throws(() => endpointWith({ deduplication: { retentionMs: 600_000 } }), refused);
  endpointWith({ deduplication: { retentionMs: 600_001 } });
  assert.throws(() => endpointWith({ deduplication: { claimMs: 10_000 } }), refused);
  assert.throws(() => endpointWith({ deduplication: { claimMs: Number.NaN } }), refused);
  // Databases and Redis cannot store such numbers. Results would be kept only as long as a claim, or would not be kept.
  for (const endless of [Number.POSITIVE_INFINITY, 1e15, 700_000.5]) {
    assert.throws(() => endpointWith({ deduplication: { retentionMs: endless } }), refused, String(endless));
    assert.throws(() => endpointWith({ deduplication: { claimMs: endless } }), refused, String(endless));
  }
});

test("a store that cannot claim is 503 with Retry-After, and nothing runs", async () => {
  const store = { ...createMemoryDeduplicationStore(), claim: () => Promise.reject(new Error("down")) };
  const { send, seen } = endpointWith({ deduplication: { store } });
  const answer = await send();
  assert.deepEqual([answer.status, answer.headers["retry-after"], seen.runs], [503, "30", 0]);
  assert.equal(seen.errors.length, 1);
});

test("a store that cannot record a result does not undo the work", async () => {
  const store = { ...createMemoryDeduplicationStore(), finish: () => Promise.reject(new Error("down")) };
  const { send, seen } = endpointWith({ deduplication: { store } });
  assert.equal((await send()).status, 204);
  assert.equal(seen.errors.length, 1);
});

test("a response that is too large to store is repeated as its status", async () => {
  const { send, seen } = endpointWith({ handler: () => ({ body: "x".repeat(70_000) }) });
  assert.equal((await send()).status, 200);
  assert.deepEqual(await send(), { status: 204, headers: {}, body: null });
  assert.equal(seen.runs, 1);
});
