import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { WorkNotice } from "../../../ports/work-queue.ts";
import { Outbox } from "./outbox.ts";

function notice(webhookId: string, more: Partial<WorkNotice> = {}): WorkNotice {
  return {
    lane: { webhookId, ordering: "none", eventType: null },
    pool: "default",
    priority: "normal",
    ...more,
  };
}

function filled(...notices: readonly WorkNotice[]): Outbox {
  const outbox = new Outbox();
  for (const each of notices) outbox.add(each);
  return outbox;
}

suite("outbox", () => {
  test("a lane that is announced several times is there once, with its highest priority", () => {
    const high = notice("a", { priority: "high" });
    for (const order of [
      [notice("a"), high, notice("a", { priority: "low" })],
      [high, notice("a", { priority: "low" })],
      [notice("a", { priority: "low" }), notice("a"), high],
    ]) {
      const outbox = filled(...order);
      assert.equal(outbox.size, 1);
      assert.deepEqual(outbox.take("default"), [high]);
    }
  });

  test("lanes of one webhook, and pools, are apart", () => {
    const typed = (eventType: string): WorkNotice =>
      notice("a", { lane: { webhookId: "a", ordering: "per_event_type", eventType } });
    const outbox = filled(notice("a"), typed("x"), typed("y"), notice("a", { pool: "other" }));
    assert.equal(outbox.size, 4);
    assert.deepEqual(outbox.pools, ["default", "other"]);
    assert.equal(outbox.take("default").length, 3);
    assert.equal(outbox.size, 1);
  });

  test("what was taken is gone, and what comes later is new", () => {
    const outbox = filled(notice("a"));
    outbox.take("default");
    assert.deepEqual(outbox.take("default"), []);
    outbox.add(notice("a", { priority: "low" }));
    assert.deepEqual(outbox.take("default"), [notice("a", { priority: "low" })]);
    assert.equal(outbox.size, 0);
  });

  test("clearing tells how many were lost", () => {
    const outbox = filled(notice("a"), notice("b"), notice("b"));
    assert.equal(outbox.clear(), 2);
    assert.deepEqual([outbox.size, outbox.pools], [0, []]);
  });
});
