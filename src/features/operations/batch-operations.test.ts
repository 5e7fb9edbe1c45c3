import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import type { BatchOperation, OperationStore } from "../../ports/store/operations.ts";
import { BatchOperations } from "./batch-operations.ts";

const scope = { tenantId: null };

/** A store with one operation. While `isHeld` is true, reads by its runner wait. */
class OneOperation {
  operation: BatchOperation | null = null;
  isHeld = false;
  readonly #held: (() => void)[] = [];
  /** Called when an update is stored, before the update resolves. */
  stored: (operation: BatchOperation) => Promise<void> = async () => undefined;

  readonly store: Pick<OperationStore, "save" | "update" | "get" | "unfinished"> = {
    save: async (operation) => void (this.operation = operation),
    update: async (operation) => {
      if (this.operation?.revision !== operation.revision) return false;
      this.operation = { ...operation, revision: operation.revision + 1 };
      await this.stored(this.operation);
      return true;
    },
    get: async () => {
      if (this.isHeld) await new Promise<void>((resolve) => void this.#held.push(resolve));
      return this.operation;
    },
    unfinished: async () => [],
  };

  get heldCount(): number {
    return this.#held.length;
  }

  letGo(): void {
    this.isHeld = false;
    for (const resolve of this.#held.splice(0)) resolve();
  }
}

async function until(clock: ManualClock, holds: () => boolean): Promise<void> {
  for (let turn = 0; !holds(); turn += 1) {
    assert.ok(turn < 1_000, "the condition never holds");
    await clock.turn();
  }
}

for (const status of ["paused", "cancelled"] as const) {
  test(`an operation stays ${status} if a progress save finds the change before its notice arrives`, async () => {
    const clock = new ManualClock();
    const one = new OneOperation();
    let retried = 0;
    const delivery = { id: "d", webhookId: "w", eventType: "a", progress: { state: "exhausted" } };
    const operations = new BatchOperations({
      access: {
        nextId: () => "runner",
        webhook: () => ({ webhook: {} }),
        placeOf: () => ({}),
        retry: async () => {
          retried += 1;
          return { kind: "accepted" };
        },
      } as never,
      store: { operations: one.store as OperationStore },
      history: { sentByOperation: async () => ({ states: {}, next: null }) },
      walk: {
        async *portions() {
          const items = [1, 2, 3].map((cursor) => ({
            row: { delivery } as never,
            exclusion: null,
            cursor,
          }));
          yield { items, cursor: 3, tookMs: 0 };
        },
      },
      clock,
      log: { warn: (_: unknown, text: string) => assert.fail(text) } as never,
      shared: null,
    });
    const { id } = await operations.create(scope, {
      tenantId: null,
      kind: "retry",
      selection: { kind: "ids", tenantId: null, ids: [] },
      priority: null,
      requestsPerSecond: 0.1,
      total: 3,
      before: null,
    });
    await until(clock, () => retried === 1);
    // The second delivery is due only after ten seconds, and progress is saved once per second.
    one.stored = async (stored) => {
      if (stored.status !== status || one.heldCount > 0) return;
      one.stored = async () => undefined;
      one.isHeld = true;
      clock.advance(1_000);
      await until(clock, () => one.heldCount === 1);
    };
    const changing = operations.change(scope, { id, status });
    await until(clock, () => one.heldCount === 1);
    await clock.turn();
    one.letGo();
    assert.equal((await changing).status, status);
    assert.equal(one.operation?.status, status);
    assert.equal(retried, 1);
    await operations.stop();
  });
}
