import assert from "node:assert/strict";
import type { SharedState } from "../../../src/ports/shared-state.ts";
import { eventually } from "../../scenarios/eventually.fixture.ts";
import type { SharedStateTheme } from "./shared-state.suite.ts";

const unavailable = { name: "SharedStateUnavailableError" };
const limit = { requestsPerMinute: 1 / 60, burst: 10 };
/** A call takes half a second or less. On a busy machine it takes longer, but it still ends. */
const soonMs = 30_000;

/** Makes one call of each kind. */
const calls: readonly ((state: SharedState) => Promise<unknown>)[] = [
  (state) => state.limits.draw([{ key: "k", limit, tokens: 1 }]),
  (state) => state.limits.giveBack([{ key: "k", limit, tokens: 1 }]),
  (state) =>
    state.endpoints.note([
      { webhookId: "w", windowMs: 60_000, cleared: false, counts: [], rateFullAt: 1_800_000_000_000 },
    ]),
  (state) => state.endpoints.recall([{ webhookId: "w", windowMs: 60_000 }]),
  (state) => state.publishes.recall([{ tenantId: "t", idempotencyKey: "i" }]),
  (state) =>
    state.publishes.remember([
      {
        key: { tenantId: "t", idempotencyKey: "i" },
        publish: {
          fingerprint: null,
          id: "p",
          eventType: "e",
          timestamp: 1,
          sequenceNumber: 1,
          deliveries: 1,
        },
        until: 4_000_000_000_000,
      },
    ]),
  (state) => state.news.announce({ kind: "tenants" }),
];

function watched(state: SharedState): boolean[] {
  const seen: boolean[] = [];
  state.watch((isAvailable) => seen.push(isAvailable));
  return seen;
}

async function isBack(state: SharedState): Promise<void> {
  await eventually("the way back", { ask: async () => state.isAvailable, holds: Boolean });
}

export const outages: SharedStateTheme = (check) => {
  check(
    "every call fails quickly while the shared state is unavailable, and works when it is back",
    async (state, open) => {
      for (const call of calls) await call(state);
      await open.interrupt();
      for (const call of calls) {
        const begun = performance.now();
        await assert.rejects(call(state), unavailable);
        const tookMs = performance.now() - begun;
        assert.ok(tookMs < soonMs, `${tookMs} ms`);
      }
      assert.equal(state.isAvailable, false);
      await open.restore();
      await isBack(state);
      for (const call of calls) await call(state);
    },
  );

  check("watchers are notified once of the outage and once of its end", async (state, open) => {
    const other = await open.openAnother();
    const seen = [watched(state), watched(other)];
    const ended: boolean[] = [];
    const end = state.watch((isAvailable) => ended.push(isAvailable));
    end();
    assert.equal(state.isAvailable, true);
    for (let round = 1; round <= 2; round += 1) {
      await open.interrupt();
      await Promise.all(
        [state, other].flatMap((each) => calls.map((call) => assert.rejects(call(each), unavailable))),
      );
      await open.restore();
      await isBack(state);
      await isBack(other);
      const told = Array.from({ length: round }, () => [false, true]).flat();
      assert.deepEqual(seen, [told, told]);
    }
    assert.deepEqual(ended, []);
  });

  check("shared data survives an interruption", async (state, open) => {
    await state.limits.draw([{ key: "k", limit, tokens: 7 }]);
    await open.interrupt();
    await assert.rejects(state.limits.draw([{ key: "k", limit, tokens: 1 }]), unavailable);
    await open.restore();
    await isBack(state);
    const [grant] = await state.limits.draw([{ key: "k", limit, tokens: 10 }]);
    assert.equal(grant?.granted, 3);
  });

  check(
    "closing twice is safe, even during an outage, and no later call is answered",
    async (state, open) => {
      const other = await open.openAnother();
      const seen = watched(state);
      await state.close();
      await state.close();
      for (const call of calls) await assert.rejects(call(state), unavailable);
      await open.interrupt();
      await assert.rejects(other.news.announce({ kind: "tenants" }), unavailable);
      await other.close();
      await other.close();
      await open.restore();
      assert.deepEqual(seen, []);
    },
  );
};
