import assert from "node:assert/strict";
import {
  claim,
  commit,
  lane,
  newAttempt,
  newWebhook,
  only,
  progressed,
  publish,
  publishSettled,
  settle,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";
import { listDeliveries } from "../../listed-deliveries.ts";

export const settlements: StoreTheme = (check) => {
  check("stores the attempt as made and the new progress", async (store) => {
    const attempt = newAttempt({
      outcome: "terminal",
      receiverStateUnknown: true,
      category: "client_error",
      statusCode: 410,
      responseSample: "gone, très gone",
      errorMessage: "gone",
      durationMs: 12.5,
      scheduledAt: start - 3,
      executedAt: start + 4,
      nextRetryAt: start + 99,
      notes: {
        retryAfter: { value: "soon\u0000 \u{1F99B}", effect: "unparsable" },
        waits: [
          { reason: "circuit_open", from: start - 2, until: start + 3 },
          { reason: "order", from: start - 1, until: start + 4 },
        ],
        trace: {
          url: "https://a.test/\u0000\ud800?x=1",
          httpVersion: "1.1",
          peerAddress: "2001:db8::1",
          responseHeaders: ["x-a", "\u{1F99B}"],
          timings: { dnsMs: 1, connectMs: null, tlsMs: 0, waitMs: 12 },
          configRevision: 7,
          truncated: true,
        },
      },
    });
    const progress = progressed({
      state: "exhausted",
      reason: "permanent_client_error_410",
      dueAt: start + 7,
    });
    const { deliveries } = await publishSettled(store, {}, { attempt, progress, settledAt: start + 16 });
    const stored = await store.history.getDelivery(null, only(deliveries).id);
    assert.deepEqual(stored?.progress, progress);
    assert.equal(stored?.category, "client_error");
    assert.equal(stored?.completedAt, start + 16);
    assert.deepEqual(await store.history.listAttempts(only(deliveries).id), [attempt]);
  });

  check(
    "a waiting delivery says whether the Retry-After of its last attempt set its due time",
    async (store) => {
      const { deliveries } = await publish(store);
      const held: unknown[] = [];
      for (const [index, effect] of (["unparsable", "lower_bound", "none", null] as const).entries()) {
        const number = index + 1;
        const { lease } = only((await claim(store, lane("webhook-1"), { now: start + number })).deliveries);
        const notes = effect === null ? null : { retryAfter: { value: "1", effect }, waits: [] };
        const attempt = newAttempt({ number, outcome: "transient", category: "server_error", notes });
        await settle(store, lease, {
          attempt,
          progress: progressed({ state: "failed", attemptCount: number }),
        });
        const stored = await store.history.getDelivery(null, only(deliveries).id);
        held.push(stored?.retryAfterHolds);
        assert.deepEqual((await store.history.listAttempts(only(deliveries).id)).at(-1)?.notes, notes);
      }
      assert.deepEqual(held, [false, true, false, false]);
      assert.equal(only((await listDeliveries(store.history, {})).rows).retryAfterHolds, false);
    },
  );

  check("adds attempts in order; a waiting delivery is not completed", async (store) => {
    const { deliveries } = await publish(store);
    for (const number of [1, 2, 3]) {
      const { lease } = only((await claim(store, lane("webhook-1"), { now: start + number })).deliveries);
      const attempt = newAttempt({ number, outcome: "transient", category: "server_error", statusCode: 503 });
      await settle(store, lease, {
        attempt,
        progress: progressed({ state: "failed", attemptCount: number }),
      });
    }
    const attempts = await store.history.listAttempts(only(deliveries).id);
    assert.deepEqual(
      attempts.map(({ number }) => number),
      [1, 2, 3],
    );
    const stored = await store.history.getDelivery(null, only(deliveries).id);
    assert.equal(stored?.completedAt, null);
    assert.equal(stored?.category, "server_error");
  });

  check("keeps the category of the last failure when the delivery succeeds", async (store) => {
    const { deliveries, leases } = await publish(store, { deliveries: [{ claim: true }] });
    const failed = newAttempt({ outcome: "transient", category: "timeout", statusCode: null });
    await settle(store, only(leases), { attempt: failed, progress: progressed({ state: "failed" }) });
    const { lease } = only((await claim(store, lane("webhook-1"))).deliveries);
    await settle(store, lease, {
      attempt: newAttempt({ number: 2 }),
      progress: progressed({ attemptCount: 2 }),
    });
    const stored = await store.history.getDelivery(null, only(deliveries).id);
    assert.equal(stored?.progress.state, "success");
    assert.equal(stored?.category, "timeout");
  });

  check("settles without an attempt", async (store) => {
    const progress = progressed({
      state: "exhausted",
      attemptCount: 0,
      firstAttemptAt: null,
      reason: "expired",
    });
    const { deliveries } = await publishSettled(store, {}, { progress });
    assert.deepEqual(await store.history.listAttempts(only(deliveries).id), []);
  });

  check("a lost lease writes neither progress nor attempt", async (store) => {
    const { deliveries, leases } = await publish(store, { deliveries: [{ claim: true }] });
    await store.deliveries.release(leases);
    await settle(store, only(leases), { attempt: newAttempt() });
    const stored = await store.history.getDelivery(null, only(deliveries).id);
    assert.equal(stored?.progress.state, "pending");
    assert.deepEqual(await store.history.listAttempts(only(deliveries).id), []);
  });

  check(
    "WDS-217 rejects a second attempt with the same number, and the whole batch with it",
    async (store) => {
      const { leases, deliveries } = await publish(store, { deliveries: [{ claim: true }] });
      await settle(store, only(leases), { attempt: newAttempt(), progress: progressed({ state: "failed" }) });
      const { lease } = only((await claim(store, lane("webhook-1"))).deliveries);
      const before = await store.deliveries.depth();
      await assert.rejects(settle(store, lease, { attempt: newAttempt() }));
      assert.deepEqual(await store.deliveries.depth(), before);
      const stored = await store.history.getDelivery(null, only(deliveries).id);
      assert.equal(stored?.progress.state, "failed");
      assert.equal(await settle(store, lease, { attempt: newAttempt({ number: 2 }) }), true);
    },
  );

  check("keeps the stored state of webhooks", async (store) => {
    const webhook = newWebhook();
    await store.webhooks.save(webhook);
    const state = {
      webhookId: webhook.id,
      pausedUntil: start + 5,
      pauseReason: "retry_after",
      lastSuccessAt: start,
      circuit: '{"open":true}',
      health: null,
    };
    await commit(store, { webhookStates: [{ ...state, pausedUntil: null }, state] });
    assert.deepEqual(only(await store.webhooks.page(null, 9)).runtime, state);
  });
};
