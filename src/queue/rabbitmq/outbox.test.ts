import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { WorkHint } from "../../ports/work-queue.ts";
import { Outbox } from "./publisher.ts";

function hint(webhookId: string, more: Partial<WorkHint> = {}): WorkHint {
  return {
    lane: { webhookId, ordering: "none", eventType: null },
    pool: "default",
    priority: "normal",
    ...more,
  };
}

function filled(...hints: readonly WorkHint[]): Outbox {
  const outbox = new Outbox();
  for (const each of hints) outbox.add(each);
  return outbox;
}

suite("outbox", () => {
  test("a lane that is announced several times is there once, with its highest priority", () => {
    const high = hint("a", { priority: "high" });
    for (const order of [
      [hint("a"), high, hint("a", { priority: "low" })],
      [high, hint("a", { priority: "low" })],
      [hint("a", { priority: "low" }), hint("a"), high],
    ]) {
      const outbox = filled(...order);
      assert.equal(outbox.size, 1);
      assert.deepEqual(outbox.take("default"), [high]);
    }
  });

  test("lanes of one webhook, and pools, are kept separately", () => {
    const typed = (eventType: string): WorkHint =>
      hint("a", { lane: { webhookId: "a", ordering: "per_event_type", eventType } });
    const outbox = filled(hint("a"), typed("x"), typed("y"), hint("a", { pool: "other" }));
    assert.equal(outbox.size, 4);
    assert.deepEqual(outbox.pools, ["default", "other"]);
    assert.equal(outbox.take("default").length, 3);
    assert.equal(outbox.size, 1);
  });

  test("taken hints are removed, and later hints are new", () => {
    const outbox = filled(hint("a"));
    outbox.take("default");
    assert.deepEqual(outbox.take("default"), []);
    outbox.add(hint("a", { priority: "low" }));
    assert.deepEqual(outbox.take("default"), [hint("a", { priority: "low" })]);
    assert.equal(outbox.size, 0);
  });

  test("clearing returns how many hints were lost", () => {
    const outbox = filled(hint("a"), hint("b"), hint("b"));
    assert.equal(outbox.clear(), 2);
    assert.deepEqual([outbox.size, outbox.pools], [0, []]);
  });
});
