import assert from "node:assert/strict";
import { test } from "node:test";
import type { LaneKey } from "../../core/webhook.ts";
import type { LaneLeft } from "../../ports/store/ownership.ts";
import type { WorkNotice } from "../../ports/work-queue.ts";
import { routeWork } from "./work-routing.ts";

const key = (webhookId: string): LaneKey => ({ webhookId, ordering: "none", eventType: null });

function left(webhookId: string, to: { readonly worker?: number; readonly pool?: string } = {}): LaneLeft {
  const { worker = null, pool = "default" } = to;
  return { lane: key(webhookId), worker, pool, priority: "normal" };
}

/** Sends all of a call or, where a pool cannot be used, nothing of it. */
class Queue {
  readonly sent: string[] = [];
  readonly told: string[] = [];
  refused = "";

  send(notices: readonly WorkNotice[]): boolean {
    if (notices.some(({ pool }) => pool === this.refused)) return false;
    this.sent.push(...notices.map(({ lane, pool }) => `${pool} ${lane.webhookId}`));
    return true;
  }

  tell({ worker, lanes }: { readonly worker: number; readonly lanes: readonly LaneKey[] }): boolean {
    this.told.push(`${worker} ${lanes.map(({ webhookId }) => webhookId).join()}`);
    return true;
  }
}

test("owners are told, once each, and pools get notices of what nobody owns", () => {
  const queue = new Queue();
  const lanes = [left("a", { worker: 1 }), left("b"), left("c", { worker: 1 }), left("d", { pool: "big" })];
  assert.equal(routeWork(queue, lanes), true);
  assert.deepEqual(queue.told, ["1 a,c"]);
  assert.deepEqual(queue.sent, ["default b", "big d"]);
});

test("a pool whose queues cannot be used keeps nobody else from being told", () => {
  const queue = new Queue();
  queue.refused = "big";
  assert.equal(routeWork(queue, [left("a", { pool: "big" }), left("b"), left("c", { worker: 1 })]), false);
  assert.deepEqual(queue.sent, ["default b"]);
  assert.deepEqual(queue.told, ["1 c"]);
});
