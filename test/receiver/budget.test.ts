import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createInbox } from "../../src/receiver/inbox/inbox.ts";
import { createMemoryInboxStore } from "../../src/receiver/inbox/memory-store.ts";
import type { ReceiverAnswer } from "../../src/receiver/answers.ts";
import { createMemoryDeduplicationStore } from "../../src/receiver/stores/memory.ts";
import { endpointWith } from "./endpoint.fixture.ts";

test("TS16-14 by default the response is sent after at most 10 s", async (t) => {
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

test("a slow handler is answered in time, continues, and its response is kept for the repeat", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const running = Promise.withResolvers<AbortSignal>();
  const { promise, resolve } = Promise.withResolvers<{ body: string }>();
  const { send, seen } = endpointWith({
    budgetMs: 20,
    handler: ({ signal }) => {
      running.resolve(signal);
      return promise;
    },
  });
  const answered = send();
  const signal = await running.promise;
  t.mock.timers.tick(20);
  const late = await answered;
  assert.deepEqual([late.status, late.headers["retry-after"]], [503, "30"]);
  assert.equal(signal.aborted, true);

  const meanwhile = await send();
  assert.deepEqual([meanwhile.status, meanwhile.headers["retry-after"]], [409, "30"]);

  resolve({ body: "done" });
  const repeated = await nextAfterRun(send);
  assert.deepEqual([repeated.status, repeated.body, seen.runs], [200, "done", 1]);
});

test("a slow handler that finally fails lets the repeat run", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const running = Promise.withResolvers<null>();
  const { promise, reject } = Promise.withResolvers<undefined>();
  const { send, seen } = endpointWith({
    budgetMs: 20,
    handler: () => {
      running.resolve(null);
      return seen.runs === 1 ? promise : undefined;
    },
  });
  const answered = send();
  await running.promise;
  t.mock.timers.tick(20);
  assert.equal((await answered).status, 503);
  reject(new Error("late"));
  const repeated = await nextAfterRun(send);
  assert.deepEqual([repeated.status, seen.runs, seen.errors.length], [204, 2, 1]);
});

/** Sends again until the current run has ended. The budget's clock is stopped during that time. */
async function nextAfterRun(send: () => Promise<ReceiverAnswer>): Promise<ReceiverAnswer> {
  for (;;) {
    const answer = await send();
    if (answer.status !== 409) return answer;
    await nextTurn();
  }
}

test("a hanging verifier is answered in time", async () => {
  const { send } = endpointWith({ budgetMs: 20, verifier: { verify: () => new Promise(() => undefined) } });
  assert.equal((await send()).status, 503);
});

test("a message stored in the inbox is 202, even if the rest takes too long", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const afterBudget = async (send: () => Promise<ReceiverAnswer>, isStuck: Promise<unknown>) => {
    const answered = send();
    await isStuck;
    t.mock.timers.tick(20);
    return (await answered).status;
  };

  const finishing = hangingCall<boolean>();
  const hanging = { ...createMemoryDeduplicationStore(), finish: finishing.call };
  const inbox = createInbox({ store: createMemoryInboxStore(), handler: () => undefined });
  const safe = endpointWith({ budgetMs: 20, inbox, deduplication: { store: hanging } });
  assert.equal(await afterBudget(safe.send, finishing.called), 202);

  const putting = hangingCall<undefined>();
  const stuck = { ...createMemoryInboxStore(), put: putting.call };
  const unsafe = endpointWith({
    budgetMs: 20,
    inbox: createInbox({ store: stuck, handler: () => undefined }),
  });
  assert.equal(await afterBudget(unsafe.send, putting.called), 503);
});

/** A call that never completes, and a promise that resolves once the call has been made. */
function hangingCall<Result>() {
  const { promise: called, resolve } = Promise.withResolvers<null>();
  const call = (): Promise<Result> => {
    resolve(null);
    return new Promise(() => undefined);
  };
  return { called, call };
}
