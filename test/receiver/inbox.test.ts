import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { createInbox, type InboxOptions } from "../../src/receiver/inbox/inbox.ts";
import { createMemoryInboxStore } from "../../src/receiver/inbox/memory-store.ts";
import { createSqliteInboxStore } from "../../src/receiver/inbox/sqlite-store.ts";
import { ReceiverError } from "../../src/receiver/receiver-error.ts";
import { createSqliteDeduplicationStore } from "../../src/receiver/stores/sqlite.ts";
import type { VerifiedMessage } from "../../src/receiver/message/message.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";
import { endpointWith } from "./endpoint.fixture.ts";
import { messageWith } from "./messages.fixture.ts";

/** An inbox with a manual clock, and a receiver in front of it. */
function inboxWith(options: Partial<InboxOptions>) {
  const clock = { now: 0 };
  const inbox = createInbox({
    store: createMemoryInboxStore(),
    handler: () => undefined,
    now: () => clock.now,
    random: () => 1,
    ...options,
  });
  return { clock, inbox, ...endpointWith({ inbox }) };
}

test("TS16-15 TS16-17 CEW-2.2-6 WDS-218 the sender gets its 202 before a handler runs", async () => {
  const handled: string[] = [];
  const { send, inbox } = inboxWith({ handler: ({ text }) => void handled.push(text()) });
  assert.deepEqual(await send(), { status: 202, headers: {}, body: null });
  assert.deepEqual(handled, []);
  assert.equal(await inbox.runDue(), 1);
  assert.deepEqual(handled, ['{"order":1}']);
});

test("the message is stored as received, without the sender's credentials", async () => {
  const handled: VerifiedMessage[] = [];
  const { inbox, receiver } = inboxWith({ handler: (received) => void handled.push(received) });
  const headers = { "ce-type": "order.created", authorization: "Bearer secret" };
  await receiver.handle(messageWith({ url: "/hooks?a=1&access_token=secret", headers }));
  await inbox.runDue();
  const { message, producer, key, scheme, timestampSeconds } = handled[0]!;
  assert.deepEqual([producer, key, scheme, timestampSeconds], ["shop", "key-1", "trust", 1_800_000_000]);
  assert.deepEqual([message.method, message.url], ["POST", "/hooks?a=1"]);
  assert.equal(message.headers.get("CE-Type"), "order.created");
  assert.equal(message.headers.get("authorization"), null);
  assert.deepEqual(message.body, messageWith().body);
});

test("a repeat is answered 202 and not stored twice", async () => {
  const { send, inbox } = inboxWith({});
  assert.deepEqual([(await send()).status, (await send()).status], [202, 202]);
  assert.equal(await inbox.runDue(), 1);
});

test("a failed message returns, later each time, and is finally parked", async () => {
  const parked: string[] = [];
  const { send, inbox, clock } = inboxWith({
    handler: () => Promise.reject(new Error("down")),
    attemptsMax: 3,
    retryDelayMsMin: 1_000,
    onParked: ({ id }) => parked.push(id),
  });
  await send();
  assert.equal(await inbox.runDue(), 1);
  clock.now = 999;
  assert.equal(await inbox.runDue(), 0);
  clock.now = 1_000;
  assert.equal(await inbox.runDue(), 1);
  clock.now = 2_999;
  assert.equal(await inbox.runDue(), 0);
  clock.now = 3_000;
  assert.equal(await inbox.runDue(), 1);
  const [message, ...others] = await inbox.parked();
  assert.deepEqual([message?.error, others.length, parked], ["down", 0, [message?.id]]);
  clock.now = 9_999_999;
  assert.equal(await inbox.runDue(), 0);
});

test("an error text is stored without characters that a database rejects", async () => {
  const { send, inbox } = inboxWith({
    handler: () => Promise.reject(new Error('Unexpected token "\0"')),
    attemptsMax: 1,
  });
  await send();
  await inbox.runDue();
  assert.deepEqual(
    (await inbox.parked()).map(({ error }) => error),
    ['Unexpected token "?"'],
  );
});

test("a message that can never be processed is parked at once, and can be processed again", async () => {
  let isFixed = false;
  const attempts: number[] = [];
  const { send, inbox } = inboxWith({
    handler: ({ attempt }) => {
      attempts.push(attempt);
      if (!isFixed) throw new ReceiverError("invalid_message", "order is missing");
    },
  });
  await send();
  await inbox.runDue();
  const [message] = await inbox.parked();
  assert.equal(message?.error, "order is missing");
  isFixed = true;
  assert.equal(await inbox.requeue(message.id), true);
  assert.equal(await inbox.runDue(), 1);
  assert.deepEqual(await inbox.parked(), []);
  assert.equal(await inbox.discard(message.id), false);
  assert.deepEqual(attempts, [1, 1]);
});

test("a message that repeatedly crashes the process is parked without another run", async () => {
  const store = createMemoryInboxStore();
  const { send, inbox, clock } = inboxWith({ store, attemptsMax: 2, handler: () => assert.fail("ran") });
  await send();
  for (const token of ["crash-1", "crash-2"]) {
    await store.claim(clock.now, clock.now + 10, token);
    clock.now += 10;
  }
  await inbox.runDue();
  assert.equal((await inbox.parked())[0]?.error, "no attempt finished");
});

test("the loop processes incoming messages, and stops when its handlers are done", async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const started: string[] = [];
  const ended: string[] = [];
  const { send, inbox } = inboxWith({
    pollMs: 60_000,
    handler: async ({ key }) => {
      started.push(String(key));
      await promise;
      ended.push(String(key));
    },
  });
  inbox.start();
  inbox.start();
  for (const key of ["a", "b"]) await send({ headers: { "idempotency-key": `"${key}"` } });
  await eventually("both handlers", { ask: async () => started.length, holds: (count) => count === 2 });
  const stopped = inbox.stop();
  await send({ headers: { "idempotency-key": '"c"' } });
  resolve(undefined);
  await stopped;
  assert.deepEqual(ended.sort(), ["a", "b"]);
  assert.equal(await inbox.runDue(), 1, "what came after the stop waits");
});

test("a store that fails for a while does not end the loop", async () => {
  const store = createMemoryInboxStore();
  let failures = 0;
  let runs = 0;
  const flaky = {
    ...store,
    claim: (...request: Parameters<typeof store.claim>) => {
      failures += 1;
      return failures <= 3 ? Promise.reject(new Error("down")) : store.claim(...request);
    },
  };
  const { send, inbox } = inboxWith({
    store: flaky,
    pollMs: 5,
    concurrency: 1,
    handler: () => void (runs += 1),
  });
  await send();
  inbox.start();
  await eventually("a run", { ask: async () => runs, holds: (count) => count === 1 });
  await inbox.stop();
});

test("a restart loses nothing and processes the messages of the last run", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "posthorn-inbox-"));
  t.after(() => rm(directory, { recursive: true }));
  const file = join(directory, "application.db");

  const before = new DatabaseSync(file);
  const first = endpointWith({
    inbox: createInbox({ store: createSqliteInboxStore(before), handler: () => assert.fail("not yet") }),
    deduplication: { store: createSqliteDeduplicationStore(before) },
  });
  for (const key of ["a", "b", "c"]) {
    assert.equal((await first.send({ headers: { "idempotency-key": `"${key}"` } })).status, 202);
  }
  // One message was being processed when the process died.
  const now = Date.now();
  await createSqliteInboxStore(before).claim(now, now, "dead");
  before.close();

  const after = new DatabaseSync(file);
  t.after(() => after.close());
  const handled: string[] = [];
  const inbox = createInbox({
    store: createSqliteInboxStore(after),
    handler: ({ key }) => void handled.push(String(key)),
  });
  const second = endpointWith({ inbox, deduplication: { store: createSqliteDeduplicationStore(after) } });
  assert.equal((await second.send({ headers: { "idempotency-key": '"a"' } })).status, 202);
  inbox.start();
  await eventually("all messages", { ask: async () => handled.length, holds: (count) => count >= 3 });
  await inbox.stop();
  assert.deepEqual(handled.sort(), ["a", "b", "c"]);
});

test("an inbox that cannot store a message is 503 with Retry-After, and the repeat is stored", async () => {
  const store = createMemoryInboxStore();
  let isDown = true;
  const put: typeof store.put = (entry) => (isDown ? Promise.reject(new Error("full")) : store.put(entry));
  const { send, inbox } = inboxWith({ store: { ...store, put } });
  const refused = await send();
  assert.deepEqual([refused.status, refused.headers["retry-after"]], [503, "30"]);
  isDown = false;
  assert.equal((await send()).status, 202);
  assert.equal(await inbox.runDue(), 1);
});
