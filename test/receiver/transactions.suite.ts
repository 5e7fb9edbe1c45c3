import assert from "node:assert/strict";
import { test } from "node:test";
import type { InTransaction } from "../../src/receiver/deduplication.ts";
import { createReceiver } from "../../src/receiver/receiver.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";
import { messageWith, nowMs, trustingVerifier } from "./messages.fixture.ts";

/** A database of the application, with an empty table `orders`. */
export interface TransactionSubject<Transaction> {
  readonly inTransaction: InTransaction<Transaction>;
  /** Whether a repeat must wait for the first transaction, because there is only one connection. */
  readonly isSerial: boolean;
  insertOrder(transaction: Transaction): Promise<void>;
  countOrders(): Promise<number>;
  countKeys(): Promise<number>;
  cleanup(): Promise<void>;
}

/**
 * The claim, the handler and the result in one transaction of the application. Every database is tested in the same
 * way.
 */
export function transactionTests<Transaction>(
  name: string,
  open: () => Promise<TransactionSubject<Transaction>>,
): void {
  const endpoint = async (
    t: { after(cleanup: () => Promise<void>): void },
    afterInsert: (run: number) => Promise<number | undefined>,
  ) => {
    const subject = await open();
    t.after(() => subject.cleanup());
    let runs = 0;
    const receiver = createReceiver({
      verifier: trustingVerifier,
      now: () => nowMs,
      deduplication: { inTransaction: subject.inTransaction },
      handler: async ({ transaction }) => {
        await subject.insertOrder(transaction);
        runs += 1;
        const status = await afterInsert(runs);
        return status === undefined ? undefined : { status: status as 503 };
      },
    });
    const send = async () => (await receiver.handle(messageWith())).status;
    return { subject, send, runs: () => runs };
  };

  test(`EDS-11.5-1 ${name}: the handler's writes and the record that it ran are committed together`, async (t) => {
    const { subject, send } = await endpoint(t, async () => undefined);
    assert.deepEqual([await send(), await send()], [204, 204]);
    assert.deepEqual([await subject.countOrders(), await subject.countKeys()], [1, 1]);
  });

  test(`${name}: a rollback removes the claim together with the work`, async (t) => {
    const { subject, send } = await endpoint(t, async (run) => {
      if (run === 1) throw new Error("after the insert");
      return run === 2 ? 503 : undefined;
    });
    assert.equal(await send(), 500);
    assert.deepEqual([await subject.countOrders(), await subject.countKeys()], [0, 0]);
    assert.equal(await send(), 503);
    assert.deepEqual([await subject.countOrders(), await subject.countKeys()], [0, 0]);
    assert.equal(await send(), 204);
    assert.deepEqual([await subject.countOrders(), await subject.countKeys()], [1, 1]);
  });

  test(`${name}: of concurrent repeats exactly one runs`, async (t) => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { subject, send, runs } = await endpoint(t, () => promise);
    const first = send();
    await eventually("the handler", { ask: async () => runs(), holds: (count) => count > 0 });
    const second = send();
    try {
      if (!subject.isSerial) assert.equal(await second, 409, "at once, and not when the first has ended");
    } finally {
      resolve(undefined);
    }
    assert.equal(await first, 204);
    if (subject.isSerial) assert.equal(await second, 204);
    assert.equal(await send(), 204);
    assert.deepEqual([await subject.countOrders(), runs()], [1, 1]);
  });
}
