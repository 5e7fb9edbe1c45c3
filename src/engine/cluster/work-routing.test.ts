import assert from "node:assert/strict";
import { test } from "node:test";
import type { LaneKey } from "../../domain/webhook.ts";
import type { PendingLane } from "../../ports/store/ownership.ts";
import type { WorkHint } from "../../ports/work-queue.ts";
import { routeWork } from "./queued-work.ts";

const key = (webhookId: string): LaneKey => ({ webhookId, ordering: "none", eventType: null });

function pending(
  webhookId: string,
  to: { readonly worker?: number; readonly pool?: string } = {},
): PendingLane {
  const { worker = null, pool = "default" } = to;
  return { lane: key(webhookId), worker, pool, priority: "normal" };
}

/** Sends all messages of a call, or none if a pool is unavailable. */
class Queue {
  readonly sent: string[] = [];
  readonly notified: string[] = [];
  refused = "";

  send(hints: readonly WorkHint[]): boolean {
    if (hints.some(({ pool }) => pool === this.refused)) return false;
    this.sent.push(...hints.map(({ lane, pool }) => `${pool} ${lane.webhookId}`));
    return true;
  }

  notify(worker: number, lanes: readonly LaneKey[]): boolean {
    this.notified.push(`${worker} ${lanes.map(({ webhookId }) => webhookId).join()}`);
    return true;
  }
}

test("owners are notified once each, and pools get hints for unowned webhooks", () => {
  const queue = new Queue();
  const lanes = [
    pending("a", { worker: 1 }),
    pending("b"),
    pending("c", { worker: 1 }),
    pending("d", { pool: "big" }),
  ];
  assert.equal(routeWork(queue, lanes), true);
  assert.deepEqual(queue.notified, ["1 a,c"]);
  assert.deepEqual(queue.sent, ["default b", "big d"]);
});

test("a pool with unusable queues does not prevent owners from being notified", () => {
  const queue = new Queue();
  queue.refused = "big";
  assert.equal(
    routeWork(queue, [pending("a", { pool: "big" }), pending("b"), pending("c", { worker: 1 })]),
    false,
  );
  assert.deepEqual(queue.sent, ["default b"]);
  assert.deepEqual(queue.notified, ["1 c"]);
});
