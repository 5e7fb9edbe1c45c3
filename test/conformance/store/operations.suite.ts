import assert from "node:assert/strict";
import { type BatchOperation, newOperationDefaults } from "../../../src/ports/store/operations.ts";
import type { Page, Store } from "../../../src/ports/store.ts";
import { idsOf, newId, start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

/** Updates the operation and returns it. */
async function updated(store: Store, changed: BatchOperation): Promise<BatchOperation> {
  assert.equal(await store.operations.update(changed), true);
  return { ...changed, revision: changed.revision + 1 };
}

function operation(fields: Partial<BatchOperation> = {}): BatchOperation {
  return {
    ...newOperationDefaults,
    id: newId(),
    tenantId: "a",
    kind: "dlq_retry",
    status: "pending",
    selection: {
      kind: "dead_letters",
      tenantId: "a",
      webhookIds: ["w"],
      eventTypes: null,
      categories: ["timeout"],
      from: null,
      to: start,
    },
    priority: "low",
    requestsPerSecond: 50,
    total: 10,
    queued: 0,
    failed: 0,
    before: 77,
    createdAt: start,
    updatedAt: start,
    ...fields,
  };
}

export const operations: StoreTheme = (check) => {
  check("keeps an operation and its progress", async (store) => {
    const first = operation();
    await store.operations.save(first);
    const changed: BatchOperation = { ...first, status: "running", queued: 4, before: 60 };
    const stored = await updated(store, changed);
    assert.deepEqual(await store.operations.get("a", first.id), stored);
    assert.deepEqual(await store.operations.get(null, first.id), stored);
  });

  check("an update of an operation that was changed in between writes nothing", async (store) => {
    const first = operation();
    await store.operations.save(first);
    const paused = await updated(store, { ...first, status: "paused" });
    assert.equal(await store.operations.update({ ...first, queued: 5 }), false);
    assert.equal(await store.operations.update(operation()), false);
    assert.deepEqual(await store.operations.get(null, first.id), paused);
    await updated(store, { ...paused, queued: 5 });
  });

  check("hides operations of other tenants, and deployment-wide ones from each tenant", async (store) => {
    const [own, global] = [operation(), operation({ tenantId: null })];
    await store.operations.save(own);
    await store.operations.save(global);
    assert.equal(await store.operations.get("b", own.id), null);
    assert.equal(await store.operations.get("a", global.id), null);
    assert.equal(await store.operations.get("a", newId()), null);
  });

  check("lists a tenant's operations, newest first and page after page", async (store) => {
    const made = [operation(), operation({ tenantId: "b" }), operation({ tenantId: null }), operation()];
    for (const each of made) await store.operations.save(each);
    await updated(store, { ...(made[0] ?? operation()), status: "completed" });
    const listed = async (tenantId: string | null) => {
      const ids: string[] = [];
      for (let before: number | null = null; ; ) {
        const page: Page<BatchOperation> = await store.operations.list({
          tenantId,
          page: { limit: 1, before, offset: 0 },
        });
        ids.push(...idsOf(page.rows));
        if (page.next === null) return ids;
        before = page.next;
      }
    };
    assert.deepEqual(await listed("a"), idsOf([made[3], made[0]].filter((each) => each !== undefined)));
    assert.deepEqual(await listed(null), idsOf(made.toReversed()));
    assert.deepEqual(await listed("never seen"), []);
    const page = { limit: 9, before: null, offset: 3 };
    assert.equal((await store.operations.list({ tenantId: null, page })).rows[0]?.status, "completed");
  });

  check("lists unfinished operations, oldest first, even across a restart", async (store, open) => {
    const [first, second, third] = [operation(), operation({ status: "running" }), operation()];
    for (const each of [first, second, third]) await store.operations.save(each);
    const begun = await updated(store, { ...first, queued: 1 });
    await updated(store, { ...third, status: "completed" });
    const paused = operation({ status: "paused" });
    await store.operations.save(paused);
    const reopened = await open.reopen();
    assert.deepEqual(await reopened.operations.unfinished(), [begun, second]);
    const resumed = await updated(reopened, { ...paused, status: "pending" });
    assert.deepEqual(await reopened.operations.unfinished(), [begun, second, resumed]);
  });
};
