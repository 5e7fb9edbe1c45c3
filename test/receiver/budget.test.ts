import assert from "node:assert/strict";
import { test } from "node:test";
import { createInbox } from "../../src/receiver/inbox/inbox.ts";
import { createMemoryInboxStore } from "../../src/receiver/inbox/memory-store.ts";
import { createMemoryDeduplicationStore } from "../../src/receiver/stores/memory.ts";
import { eventually } from "../scenarios/eventually.ts";
import { endpointWith } from "./endpoint.ts";

test("TS16-14 without a setting the answer comes after 10 s at the latest", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { promise: running, resolve: started } = Promise.withResolvers<undefined>();
  const { send } = endpointWith({
    handler: () => {
      started(undefined);
      return new Promise(() => undefined);
    },
  });
  let status: number | null = null;
  const answered = send().then((answer) => {
    ({ status } = answer);
    return status;
  });
  await running;
  t.mock.timers.tick(9_999);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  assert.equal(status, null);
  t.mock.timers.tick(1);
  assert.equal(await answered, 503);
});

test("a slow handler is answered in time, goes on, and its answer waits for the repetition", async () => {
  const { promise, resolve } = Promise.withResolvers<{ body: string }>();
  const signals: AbortSignal[] = [];
  const { send, seen } = endpointWith({
    budgetMs: 20,
    handler: ({ signal }) => {
      signals.push(signal);
      return promise;
    },
  });
  const late = await send();
  assert.deepEqual([late.status, late.headers["retry-after"]], [503, "30"]);
  assert.equal(signals[0]?.aborted, true);

  const meanwhile = await send();
  assert.deepEqual([meanwhile.status, meanwhile.headers["retry-after"]], [409, "30"]);

  resolve({ body: "done" });
  const repeated = await eventually("the stored answer", {
    ask: () => send(),
    holds: ({ status }) => status !== 409,
  });
  assert.deepEqual([repeated.status, repeated.body, seen.runs], [200, "done", 1]);
});

test("a slow handler that fails in the end lets the repetition run", async () => {
  const { promise, reject } = Promise.withResolvers<undefined>();
  const { send, seen } = endpointWith({
    budgetMs: 20,
    handler: () => (seen.runs === 1 ? promise : undefined),
  });
  assert.equal((await send()).status, 503);
  reject(new Error("late"));
  const repeated = await eventually("a new run", {
    ask: () => send(),
    holds: ({ status }) => status !== 409,
  });
  assert.deepEqual([repeated.status, seen.runs, seen.errors.length], [204, 2, 1]);
});

test("a verifier that hangs is answered in time", async () => {
  const { send } = endpointWith({ budgetMs: 20, verifier: { verify: () => new Promise(() => undefined) } });
  assert.equal((await send()).status, 503);
});

test("what is safe in the inbox is 202, also when the rest takes too long", async () => {
  const memory = createMemoryDeduplicationStore();
  const hanging = { ...memory, finish: () => new Promise<boolean>(() => undefined) };
  const inbox = createInbox({ store: createMemoryInboxStore(), handler: () => undefined });
  const safe = endpointWith({ budgetMs: 20, inbox, deduplication: { store: hanging } });
  assert.equal((await safe.send()).status, 202);

  const stuck = { ...createMemoryInboxStore(), put: () => new Promise<void>(() => undefined) };
  const unsafe = endpointWith({
    budgetMs: 20,
    inbox: createInbox({ store: stuck, handler: () => undefined }),
  });
  assert.equal((await unsafe.send()).status, 503);
});
