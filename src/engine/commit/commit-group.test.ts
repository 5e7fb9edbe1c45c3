import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailableError } from "../../ports/store.ts";
import type {
  CommitBatch,
  CommitResult,
  DeliveryStore,
  PublishCommand,
  Settlement,
  WebhookRuntimeState,
} from "../../ports/store/deliveries.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { OperationalEvents } from "../endpoint/operational-events.ts";
import { WaitingStates } from "./write-group.ts";
import { CommitGroup } from "./commit-group.ts";
import { ManualClock } from "../manual-clock.fixture.ts";

const nothing = (): void => {};
const telemetry: Telemetry = {
  log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
  metrics: {
    attemptSettled: nothing,
    circuitMoved: nothing,
    rateLimited: nothing,
    largePayload: nothing,
    notified: () => undefined,
    alarmed: nothing,
    apiCallLimited: nothing,
    eventPublished: nothing,
    commitWritten: nothing,
  },
};

interface World {
  readonly clock: ManualClock;
  readonly commits: CommitGroup;
  readonly batches: CommitBatch[];
  readonly recovered: () => number;
  fail: (batch: CommitBatch) => Error | null;
  /** The store does not reply until this promise resolves. */
  holdUp: Promise<unknown>;
}

function world(changedStates: () => readonly WebhookRuntimeState[] = () => []): World {
  const clock = new ManualClock();
  const batches: CommitBatch[] = [];
  let recovered = 0;
  const store: Pick<DeliveryStore, "commit"> = {
    async commit(batch): Promise<CommitResult> {
      await made.holdUp;
      const failure = made.fail(batch);
      if (failure !== null) throw failure;
      batches.push(batch);
      return {
        publishes: batch.publishes.map((_, index) => ({
          kind: "accepted",
          sequenceNumber: index,
          leases: [],
        })),
        requeues: [],
        retries: [],
        settled: batch.settlements.map(() => ({ kind: "written" })),
      };
    },
  };
  const commits = new CommitGroup({
    store: store as DeliveryStore,
    clock,
    random: { uniform: () => 0.5, bytes: (count) => new Uint8Array(count) },
    telemetry,
    waitingStates: new WaitingStates(
      changedStates,
      new OperationalEvents(
        () => undefined,
        () => undefined,
      ),
    ),
    riders: { unwrittenSince: null, compose: () => ({}), committed: nothing, failed: nothing, end: nothing },
    recovered: () => void (recovered += 1),
    windowMs: 10,
    rowsMax: 100,
  });
  const made: World = {
    clock,
    commits,
    batches,
    recovered: () => recovered,
    fail: () => null,
    holdUp: Promise.resolve(),
  };
  return made;
}

function publish(commits: CommitGroup, name: string): Promise<unknown> {
  return new Promise((resolve) => {
    const size = { rows: 1, bytes: 0 };
    commits.publish({ size, compose: () => ({ name }) as unknown as PublishCommand, done: resolve });
  });
}

/** Writes `rows` rows; `composed` is called when the write is composed. */
function publishLarge(
  commits: CommitGroup,
  given: { readonly name: string; readonly rows: number; readonly composed?: (name: string) => void },
): Promise<unknown> {
  const { name, rows, composed } = given;
  return new Promise((resolve) => {
    const compose = () => {
      composed?.(name);
      return { name } as unknown as PublishCommand;
    };
    commits.publish({ size: { rows, bytes: 0 }, compose, done: resolve });
  });
}

function settle(commits: CommitGroup, name: string, isAwaited = false): Promise<boolean> {
  return new Promise((resolve) => {
    commits.settle({
      settlement: { name } as unknown as Settlement,
      delivery: { tenantId: "oak", webhookId: "w", body: null },
      isAwaited,
      done: ({ kind }) => resolve(kind === "written"),
    });
  });
}

async function turnsUntil(clock: ManualClock, condition: () => boolean): Promise<number> {
  let turns = 0;
  while (!condition()) {
    turns += 1;
    assert.ok(turns < 1_000, "the condition never became true");
    await clock.turn();
  }
  return turns;
}

test("a single publish is written after one turn", async () => {
  const { clock, commits, batches } = world();
  const answer = publish(commits, "a");
  assert.equal(await turnsUntil(clock, () => batches.length === 1), 1);
  assert.deepEqual(await answer, { kind: "accepted", sequenceNumber: 0, leases: [] });
});

test("publishes that arrive in successive turns share one transaction, up to the window", async () => {
  const { clock, commits, batches } = world();
  for (let turn = 0; turn < 30; turn += 1) {
    void publish(commits, `event ${turn}`);
    void publish(commits, `another ${turn}`);
    await clock.turn();
    clock.time += 1;
  }
  await turnsUntil(clock, () => commits.backlog === 0);
  assert.ok(batches.length >= 2 && batches.length <= 4, `${batches.length} transactions for 30 ms of load`);
  assert.equal(
    batches.reduce((sum, batch) => sum + batch.publishes.length, 0),
    60,
  );
});

test("a settlement waits for the next publish and shares its transaction", async () => {
  const { clock, commits, batches } = world();
  const settled = settle(commits, "s");
  for (let turn = 0; turn < 5; turn += 1) await clock.turn();
  assert.equal(batches.length, 0);
  void publish(commits, "a");
  await turnsUntil(clock, () => batches.length === 1);
  assert.equal(await settled, true);
  assert.equal(batches[0]?.publishes.length, 1);
  assert.equal(clock.timers, 0, "nothing is left to wait for");
});

test("a settlement without other work waits for one window and no longer", async () => {
  const { clock, commits, batches } = world();
  void settle(commits, "first");
  clock.advance(6);
  void settle(commits, "second");
  clock.advance(3);
  await clock.turn();
  assert.equal(batches.length, 0);
  clock.advance(1);
  void settle(commits, "third");
  assert.equal(await turnsUntil(clock, () => batches.length === 1), 1);
  assert.equal(batches[0]?.settlements.length, 3);
});

test("a settlement that arrives while a transaction is written also waits for one window", async () => {
  const made = world();
  const { clock, commits, batches } = made;
  const answered = Promise.withResolvers<null>();
  made.holdUp = answered.promise;
  void publish(commits, "a");
  await clock.turn();
  void settle(commits, "s");
  answered.resolve(null);
  await clock.turn();
  await clock.turn();
  assert.equal(batches.length, 1);
  clock.advance(10);
  await turnsUntil(clock, () => batches.length === 2);
  assert.equal(commits.backlog, 0);
});

test("a settlement with a blocked caller is written after one turn, together with the others", async () => {
  const { clock, commits, batches } = world();
  void settle(commits, "waits");
  await clock.turn();
  void settle(commits, "awaited", true);
  await turnsUntil(clock, () => batches.length === 1);
  assert.equal(batches[0]?.settlements.length, 2);
  assert.equal(clock.time, 1_800_000_000_000);
});

test("many settlements are written without waiting", async () => {
  const { clock, commits, batches } = world();
  for (let index = 0; index < 32; index += 1) void settle(commits, `s${index}`);
  await turnsUntil(clock, () => batches.length === 1);
  assert.equal(batches[0]?.settlements.length, 32);
  assert.equal(clock.time, 1_800_000_000_000);
});

test("a full group does not wait for the window", async () => {
  const { clock, commits, batches } = world();
  void publish(commits, "first");
  await clock.turn();
  for (let index = 0; index < 150; index += 1) void publish(commits, `event ${index}`);
  assert.ok((await turnsUntil(clock, () => batches.length >= 1)) <= 2);
});

test("a transaction takes as many rows as fit, and the rest follows in order, one turn of the loop later", async () => {
  const { clock, commits, batches } = world();
  const composed: string[] = [];
  const answers = ["a", "b", "c", "d"].map((name) =>
    publishLarge(commits, { name, rows: 40, composed: () => composed.push(name) }),
  );
  const huge = publishLarge(commits, { name: "huge", rows: 1_000 });
  await turnsUntil(clock, () => batches.length === 1);
  assert.deepEqual(composed, ["a", "b"], "what waits for a later transaction is not drafted yet");
  await turnsUntil(clock, () => batches.length === 2);
  await turnsUntil(clock, () => batches.length === 3);
  await Promise.all([...answers, huge]);
  assert.deepEqual(
    batches.map(({ publishes }) => publishes.map((command) => (command as unknown as { name: string }).name)),
    [["a", "b"], ["c", "d"], ["huge"]],
  );
  assert.equal(clock.time, 1_800_000_000_000, "none of them waited for more to come");
});

test("settlements and webhook states are split too, and waiting for a write waits for the last part", async () => {
  const states = Array.from({ length: 1_500 }, (_, index) => ({ webhookId: `w${index}` }));
  const { clock, commits, batches } = world(() => states.splice(0) as unknown as WebhookRuntimeState[]);
  const settled = Array.from({ length: 1_500 }, (_, index) => settle(commits, `s${index}`));
  let isWritten = false;
  void commits.written().then(() => (isWritten = true));
  await turnsUntil(clock, () => isWritten);
  assert.equal(batches.flatMap(({ webhookStates }) => webhookStates).length, 1_500);
  await Promise.all(settled);
  for (const { settlements, webhookStates } of batches)
    assert.ok(settlements.length <= 1_024 && webhookStates.length <= 1_024);
});

test("a transaction takes the settlements that fit into 25 ms at the pace of the last large group", async () => {
  const made = world();
  const { clock, commits, batches } = made;
  const sizes = async (msPerSettlement: number): Promise<readonly number[]> => {
    batches.length = 0;
    made.fail = ({ settlements }) => {
      clock.advance(settlements.length * msPerSettlement);
      return null;
    };
    const settled = Array.from({ length: 1_000 }, (_, index) => settle(commits, `s${index}`));
    while (batches.flatMap(({ settlements }) => settlements).length < 1_000) {
      await clock.turn();
      clock.advance(1);
    }
    await Promise.all(settled);
    return batches.map(({ settlements }) => settlements.length);
  };
  assert.deepEqual((await sizes(0.25)).slice(0, 3), [64, 100, 100], "64 before the pace is known");
  assert.deepEqual((await sizes(2)).slice(0, 3), [100, 64, 64], "never fewer than 64");
  assert.deepEqual(await sizes(0.05), [64, 936], "a fast store takes them all");
});

test("the latency of the store is not part of its pace", async () => {
  const made = world();
  const { clock, commits, batches } = made;
  made.fail = ({ settlements }) => {
    clock.advance(100 + settlements.length * 0.05);
    return null;
  };
  const published = publish(commits, "alone");
  await turnsUntil(clock, () => batches.length === 1);
  await published;
  batches.length = 0;
  const settled = Array.from({ length: 1_000 }, (_, index) => settle(commits, `s${index}`));
  while (batches.flatMap(({ settlements }) => settlements).length < 1_000) {
    await clock.turn();
    clock.advance(1);
  }
  await Promise.all(settled);
  assert.deepEqual(
    batches.map(({ settlements }) => settlements.length),
    [64, 155, 359, 422],
  );
});

test("a few settlements that did not fit wait for the next group instead of starting a transaction", async () => {
  const { clock, commits, batches } = world();
  const settled = Array.from({ length: 66 }, (_, index) => settle(commits, `s${index}`));
  await turnsUntil(clock, () => batches.length === 1);
  for (let turn = 0; turn < 20; turn += 1) await clock.turn();
  assert.equal(batches.length, 1, "two settlements are not worth a transaction");
  clock.advance(5);
  const published = publish(commits, "event");
  await turnsUntil(clock, () => batches.length === 2);
  await published;
  assert.equal(batches[1]?.settlements.length, 2, "they share the transaction of the next publish");
  await Promise.all(settled);
});

test("a publish shares its transaction with a bounded part of the settlements that wait", async () => {
  const { clock, commits, batches } = world();
  const settled = Array.from({ length: 1_000 }, (_, index) => settle(commits, `s${index}`));
  const published = publish(commits, "event");
  await turnsUntil(clock, () => batches.length > 0);
  await published;
  assert.equal(batches.length, 1, "the publish is in the first transaction");
  assert.equal(batches[0]?.settlements.length, 64);
  await turnsUntil(clock, () => batches.flatMap(({ settlements }) => settlements).length === 1_000);
  await Promise.all(settled);
});

test("when the store is unavailable, writes that did not fit into the transaction fail with it", async () => {
  const made = world();
  made.fail = () => new StoreUnavailableError("away");
  const answers = ["a", "b", "c"].map((name) => publishLarge(made.commits, { name, rows: 80 }));
  await turnsUntil(made.clock, () => made.commits.trouble !== null);
  for (const answer of await Promise.all(answers)) assert.ok(answer instanceof StoreUnavailableError);
});

test("an event that cannot be drafted is rejected alone", async () => {
  const { clock, commits, batches } = world();
  const composed = (): void => assert.fail("no draft");
  const bad = publishLarge(commits, { name: "bad", rows: 1, composed });
  const good = publish(commits, "good");
  await turnsUntil(clock, () => batches.length === 1);
  assert.ok((await bad) instanceof assert.AssertionError);
  assert.equal(((await good) as { kind: string }).kind, "accepted");
});

test("while a transaction is unanswered, callers are rejected and settlements wait", async () => {
  const made = world();
  const { clock, commits, batches } = made;
  const answered = Promise.withResolvers<null>();
  made.holdUp = answered.promise;
  const first = publish(commits, "in the transaction");
  await clock.turn();
  const waiting = publish(commits, "came while it was written");
  const settled = settle(commits, "s");
  clock.advance(4_900);
  assert.equal(commits.backlog, 2);
  clock.advance(200);
  assert.ok((await waiting) instanceof StoreUnavailableError);
  assert.ok((await publish(commits, "came later")) instanceof StoreUnavailableError);
  assert.equal(commits.backlog, 1);
  answered.resolve(null);
  assert.deepEqual(await first, { kind: "accepted", sequenceNumber: 0, leases: [] });
  await turnsUntil(clock, () => batches.length === 2);
  assert.equal(await settled, true);
  const after = publish(commits, "after");
  await turnsUntil(clock, () => batches.length === 3);
  assert.deepEqual(await after, { kind: "accepted", sequenceNumber: 0, leases: [] });
  assert.equal(clock.timers, 0, "no transaction leaves its timer behind");
});

test("while the store is down publishes are rejected and settlements kept, then written once", async () => {
  const made = world();
  const { clock, commits, batches } = made;
  made.fail = () => new StoreUnavailableError("disk full");
  const refused = publish(commits, "a");
  let settled = false;
  void settle(commits, "s").then((written) => (settled = written));
  await turnsUntil(clock, () => commits.trouble !== null);
  assert.ok((await refused) instanceof StoreUnavailableError);
  assert.equal(settled, false);
  for (let attempt = 0; attempt < 5; attempt += 1) {
    clock.advance(6_000);
    await clock.turn();
    await clock.turn();
  }
  assert.equal(batches.length, 0);
  made.fail = () => null;
  clock.advance(6_000);
  await turnsUntil(clock, () => settled);
  assert.equal(batches.length, 1);
  assert.equal(made.recovered(), 1);
  assert.equal(commits.trouble, null);
});

test("settlements that wait for the next attempt are written as soon as the store is back", async () => {
  const made = world();
  const { clock, commits, batches } = made;
  made.fail = () => new StoreUnavailableError("away");
  const settled = settle(commits, "s", true);
  await turnsUntil(clock, () => commits.trouble !== null);
  made.fail = () => null;
  // The clock stands still, so only the call under test can end the pause.
  commits.retryNow();
  await turnsUntil(clock, () => commits.trouble === null);
  assert.equal(await settled, true);
  assert.equal(batches.length, 1);
});

test("WDS-205 each failure in a row is logged as an error with the number of failures, including the fifth", async (t) => {
  const errors: unknown[] = [];
  t.mock.method(telemetry.log, "error", (fields: { readonly failures?: number }) =>
    errors.push(fields.failures),
  );
  const made = world();
  const { clock, commits } = made;
  made.fail = () => new StoreUnavailableError("away");
  const settled = settle(commits, "s", true);
  for (let failures = 1; failures <= 6; failures += 1) {
    await turnsUntil(clock, () => errors.length === failures);
    clock.advance(6_000);
  }
  made.fail = () => null;
  clock.advance(6_000);
  await turnsUntil(clock, () => commits.trouble === null);
  assert.equal(await settled, true);
  assert.deepEqual(errors.slice(0, 6), [1, 2, 3, 4, 5, 6]);
  made.fail = () => new StoreUnavailableError("away again");
  void settle(commits, "s", true);
  await turnsUntil(clock, () => commits.trouble !== null);
  assert.equal(errors.at(-1), 1, "a success in between begins the count anew");
});

test("one command that cannot be written does not fail the others with it", async () => {
  const made = world();
  const { clock, commits, batches } = made;
  const named = (batch: CommitBatch, name: string): boolean =>
    batch.publishes.some((command) => (command as unknown as { name: string }).name === name);
  made.fail = (batch) => (named(batch, "poison") ? new TypeError("cannot bind") : null);
  const good = publish(commits, "good");
  const bad = publish(commits, "poison");
  const fact = settle(commits, "s");
  await turnsUntil(clock, () => commits.backlog === 0 && batches.length === 2);
  assert.equal(((await good) as { kind: string }).kind, "accepted");
  assert.ok((await bad) instanceof TypeError);
  assert.equal(await fact, true);
});

test("drain resolves when everything is written", async () => {
  const { clock, commits, batches } = world();
  const answers = [publish(commits, "a"), settle(commits, "b")];
  const drained = commits.drain();
  await turnsUntil(clock, () => batches.length === 1);
  await drained;
  await Promise.all(answers);
  assert.equal(commits.backlog, 0);
});
