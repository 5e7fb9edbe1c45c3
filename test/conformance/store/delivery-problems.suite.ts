import assert from "node:assert/strict";
import { problemKind, problemKindsMax } from "../../../src/features/problems/problem.ts";
import type { AttemptRecord } from "../../../src/domain/delivery.ts";
import type { CommitResult, Lease } from "../../../src/ports/store/deliveries.ts";
import type {
  ProblemBatch,
  ProblemFact,
  ProblemFilter,
  StoredProblem,
} from "../../../src/ports/store/delivery-problems.ts";
import type { SearchPlace } from "../../../src/ports/store/search.ts";
import type { Store } from "../../../src/ports/store.ts";
import {
  claim,
  commit,
  idsOf,
  lane,
  minute,
  newAttempt,
  newWebhook,
  only,
  progressed,
  publish,
  runToEnd,
  settlement,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

async function newHook(store: Store, tenantId = "a"): Promise<string> {
  const webhook = newWebhook({ tenantId });
  await store.webhooks.save(webhook);
  return webhook.id;
}

interface Failing {
  readonly webhookId: string;
  readonly tenantId?: string;
  readonly at?: number;
  readonly answer?: string;
  readonly isDeadLetter?: boolean;
}

const nothing = { recovering: [], resolved: [], at: start };

function factOf(lease: Lease, attempt: AttemptRecord, failing: Failing): ProblemFact {
  const kind = problemKind(attempt);
  assert.ok(kind !== null);
  const { webhookId, tenantId = "a", at = start, isDeadLetter = false } = failing;
  return {
    webhookId,
    tenantId,
    at,
    isDeadLetter,
    kind,
    lease,
    attemptNumber: attempt.number,
    deliveryId: lease.deliveryId,
    outcome: "transient",
  };
}

async function newLease(store: Store, { webhookId, tenantId = "a" }: Failing): Promise<Lease> {
  const deliveries = [{ lane: lane(webhookId), claim: true }];
  return only((await publish(store, { event: { tenantId }, deliveries })).leases);
}

/** Records a failed attempt of this delivery, or of a new one. */
async function fail(
  store: Store,
  failing: Failing,
  before?: { lease: Lease; number: number },
): Promise<Failed> {
  const lease = before?.lease ?? (await newLease(store, failing));
  const number = before?.number ?? 1;
  const attempt = newAttempt({
    number,
    outcome: "transient",
    category: "server_error",
    statusCode: 500,
    responseSample: failing.answer ?? "no",
    executedAt: failing.at ?? start,
  });
  const problems: ProblemBatch = { ...nothing, failures: [factOf(lease, attempt, failing)] };
  const progress = progressed({ state: "failed", attemptCount: number, dueAt: start });
  const result = await commit(store, { settlements: [settlement(lease, { attempt, progress })], problems });
  return { lease, result };
}

interface Failed {
  readonly lease: Lease;
  readonly result: CommitResult;
}

const everyone: ProblemFilter = { tenantId: null, webhookIds: null, states: null };

async function listed(
  store: Store,
  filter: Partial<ProblemFilter> = {},
  {
    now = start,
    limit = 100,
    after = null,
  }: { now?: number; limit?: number; after?: SearchPlace | null } = {},
): Promise<readonly StoredProblem[]> {
  return (await store.problems.search({ filter: { ...everyone, ...filter }, now, after, limit })).rows;
}

export const deliveryProblems: StoreTheme = (check) => {
  check(
    "the third failure of a kind within ten minutes opens a problem, and each later one counts",
    async (store) => {
      const webhookId = await newHook(store);
      await fail(store, { webhookId, at: start - 20 * minute });
      const second = await fail(store, { webhookId, at: start, answer: "no" });
      assert.equal(second.result.problemMoves, undefined);
      assert.deepEqual(await listed(store), []);
      await fail(store, { webhookId, at: start + minute, answer: "no" });
      const { lease, result } = await fail(store, { webhookId, at: start + 2 * minute, answer: "no" });
      const opened = only(result.problemMoves ?? []);
      assert.equal(opened.kind, "opened");
      const [problem] = await listed(store);
      assert.deepEqual({ ...problem, position: 0 }, { ...opened.problem, position: 0 });
      assert.deepEqual(
        [problem?.state, problem?.count, problem?.deliveries, problem?.firstSeenAt, problem?.kind.answer],
        ["open", 3, 3, start, "no"],
      );
      assert.equal(problem?.deliveryIds[0], lease.deliveryId);
      await fail(store, { webhookId, at: start + 3 * minute });
      await fail(store, { webhookId, answer: "something else" });
      const [later, ...others] = await listed(store);
      assert.deepEqual([later?.count, later?.deliveryIds.length, others], [4, 3, []]);
      assert.deepEqual(await store.problems.get("a", later?.id ?? ""), later);
      assert.equal(await store.problems.get("b", later?.id ?? ""), null);
      assert.equal(await store.problems.get(null, "no id"), null);
    },
  );

  check(
    "a dead letter opens at once; a delivery that fails again in the same way counts once",
    async (store) => {
      const webhookId = await newHook(store);
      const { lease, result } = await fail(store, { webhookId, isDeadLetter: true });
      assert.equal(result.problemMoves?.length, 1);
      void lease;
      const { lease: first } = await fail(store, { webhookId });
      for (const number of [2, 3]) {
        const again = only(
          (await claim(store, lane(webhookId), { now: start + minute, limit: 9 })).deliveries.filter(
            ({ id }) => id === first.deliveryId,
          ),
        );
        await fail(store, { webhookId }, { lease: again.lease, number });
      }
      const [problem] = await listed(store);
      assert.deepEqual([problem?.count, problem?.deliveries], [4, 2]);
    },
  );

  check("a delivery that fails in turns in two ways counts once for each", async (store) => {
    const webhookId = await newHook(store);
    await fail(store, { webhookId, isDeadLetter: true, answer: "no" });
    await fail(store, { webhookId, isDeadLetter: true, answer: "not now" });
    const { lease: first } = await fail(store, { webhookId, answer: "no" });
    for (const [number, answer] of [
      [2, "not now"],
      [3, "no"],
      [4, "not now"],
    ] as const) {
      const { deliveries } = await claim(store, lane(webhookId), { now: start + minute, limit: 9 });
      const again = only(deliveries.filter(({ id }) => id === first.deliveryId));
      await fail(store, { webhookId, answer }, { lease: again.lease, number });
    }
    const counted = (await listed(store)).map(({ count, deliveries }) => [count, deliveries]);
    assert.deepEqual(counted, [
      [3, 2],
      [3, 2],
    ]);
  });

  check("the failures of a rejected settlement are not counted", async (store) => {
    const webhookId = await newHook(store);
    const { lease } = await fail(store, { webhookId });
    const { result } = await fail(store, { webhookId, isDeadLetter: true }, { lease, number: 1 });
    assert.deepEqual([result.settled[0]?.kind, result.problemMoves], ["lost", undefined]);
    assert.deepEqual(await listed(store), []);
  });

  check(
    "accepted attempts make it recover and resolve it, and failures open it again from zero",
    async (store) => {
      const webhookId = await newHook(store);
      for (let index = 0; index < 5; index += 1) await fail(store, { webhookId });
      await commit(store, { problems: { ...nothing, failures: [], recovering: [webhookId] } });
      assert.deepEqual(
        (await listed(store)).map(({ state }) => state),
        ["recovering"],
      );
      assert.deepEqual(await store.problems.troubledWebhooks(null, 9), [webhookId]);
      const failedAgain = await fail(store, { webhookId });
      assert.equal(failedAgain.result.problemMoves, undefined);
      assert.deepEqual(
        (await listed(store)).map(({ state, count }) => [state, count]),
        [["open", 6]],
      );
      const at = start + minute;
      const batch = { failures: [], recovering: [webhookId], resolved: [webhookId], at };
      const { problemMoves } = await commit(store, { problems: batch });
      assert.deepEqual(
        problemMoves?.map(({ kind }) => kind),
        ["resolved"],
      );
      assert.deepEqual(
        (await listed(store)).map(({ state, resolvedAt }) => [state, resolvedAt]),
        [["resolved", at]],
      );
      assert.deepEqual(await store.problems.troubledWebhooks(null, 9), []);
      for (let index = 0; index < 3; index += 1) await fail(store, { webhookId, at: at + 1 });
      assert.deepEqual(
        (await listed(store)).map(({ state, count, resolvedAt }) => [state, count, resolvedAt]),
        [["open", 3, null]],
      );
    },
  );

  check(
    "a quiet period resolves recovering problems, in steps, and retention deletes old ones",
    async (store) => {
      const hooks = [await newHook(store), await newHook(store), await newHook(store)];
      for (const webhookId of hooks) await fail(store, { webhookId, isDeadLetter: true });
      await commit(store, { problems: { ...nothing, failures: [], recovering: hooks.slice(0, 2) } });
      const step = { quietSince: start + minute, now: start + 2 * minute, limit: 1 };
      const problems = store.problems;
      assert.deepEqual((await problems.resolveQuiet({ ...step, quietSince: start })).changed, 0);
      const first = await problems.resolveQuiet(step);
      assert.deepEqual([first.changed, first.more, first.moves.length], [1, true, 1]);
      await runToEnd(() => problems.resolveQuiet(step));
      assert.deepEqual((await listed(store)).map(({ state }) => state).toSorted(), [
        "open",
        "resolved",
        "resolved",
      ]);
      const before = { noticedBefore: start, resolvedBefore: start + 3 * minute };
      assert.equal(await runToEnd(() => problems.forget({ ...before, limit: 1 })), 2);
      assert.deepEqual(
        (await listed(store)).map(({ state }) => state),
        ["open"],
      );
    },
  );

  check("a webhook has fifty kinds and one for the others; resolved ones make room", async (store) => {
    const webhookId = await newHook(store);
    const answer = (index: number): string => `kind ${String.fromCodePoint(0x4e00 + index)}`;
    for (let index = 0; index < problemKindsMax + 3; index += 1)
      await fail(store, { webhookId, answer: answer(index), isDeadLetter: true });
    const rows = await listed(store);
    const others = rows.filter(({ kind }) => kind.category === null);
    assert.deepEqual([rows.length, only(others).count], [problemKindsMax + 1, 3]);
    await commit(store, { problems: { ...nothing, failures: [], resolved: [webhookId] } });
    await fail(store, { webhookId, answer: "new", isDeadLetter: true });
    const after = await listed(store);
    assert.equal(after.length, problemKindsMax + 1);
    assert.deepEqual(after[0]?.kind.answer, "new");
  });

  check("lists by tenant, webhook and state, last changed first, page after page", async (store) => {
    const hooks = [await newHook(store), await newHook(store), await newHook(store, "b")];
    for (const [index, webhookId] of hooks.entries())
      await fail(store, { webhookId, isDeadLetter: true, tenantId: index === 2 ? "b" : "a" });
    const rows = await listed(store);
    assert.deepEqual(rows.map(({ webhookId }) => webhookId).toReversed(), hooks);
    const [third = "", second = "", first = ""] = idsOf(rows);
    const found = async (filter: Partial<ProblemFilter>, now = start) =>
      idsOf(await listed(store, filter, { now }));
    assert.deepEqual(await found({ tenantId: "b" }), [third]);
    assert.deepEqual(await found({ tenantId: "never" }), []);
    assert.deepEqual(await found({ webhookIds: hooks.slice(1) }), [third, second]);
    assert.deepEqual(await found({ webhookIds: hooks.slice(1), tenantId: "a" }), [second]);
    assert.deepEqual(await found({ webhookIds: [] }), []);
    const mute = { since: start, until: start + minute, reason: "later" };
    const muted = await store.problems.change({ tenantId: "a", id: second, mute, note: "x" });
    assert.deepEqual([muted?.mute, muted?.note], [mute, "x"]);
    assert.equal(await store.problems.change({ tenantId: "b", id: second, note: "y" }), null);
    assert.deepEqual(await found({ states: ["muted"] }), [second]);
    assert.deepEqual(await found({ states: ["open"] }), [third, first]);
    assert.deepEqual(await found({ states: ["open"] }, start + minute), [second, third, first]);
    assert.deepEqual(await found({ states: ["resolved", "recovering"] }), []);
    await store.problems.change({ tenantId: null, id: second, mute: { ...mute, until: null } });
    assert.deepEqual(await found({ states: ["muted"] }, start + 999 * minute), [second]);
    const paged: string[] = [];
    for (let after: SearchPlace | null = null, more = true; more; more = after !== null) {
      const page = await store.problems.search({ filter: everyone, now: start, after, limit: 2 });
      paged.push(...idsOf(page.rows));
      after = page.next;
    }
    assert.deepEqual(paged, [second, third, first]);
  });

  check(
    "problems survive a restart, are deleted with their webhook, and are not created for a deleted one",
    async (store, open) => {
      const [kept, gone] = [await newHook(store), await newHook(store)];
      for (const webhookId of [kept, gone]) await fail(store, { webhookId, isDeadLetter: true });
      const late = await newLease(store, { webhookId: gone });
      await store.webhooks.delete(gone, start);
      const attempt = newAttempt({ outcome: "transient", category: "timeout" });
      const failures = [factOf(late, attempt, { webhookId: gone, isDeadLetter: true })];
      const progress = progressed({ state: "exhausted" });
      const settlements = [settlement(late, { attempt, progress })];
      await commit(store, { settlements, problems: { ...nothing, failures } });
      const before = await listed(store);
      assert.deepEqual(
        before.map(({ webhookId }) => webhookId),
        [kept],
      );
      assert.deepEqual(await listed(await open.reopen()), before);
    },
  );
};
