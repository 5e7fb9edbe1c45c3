import assert from "node:assert/strict";
import { eventually } from "../../scenarios/eventually.fixture.ts";
import { heldHandler, hints, sent, Worker } from "./scene.fixture.ts";
import type { QueueTheme } from "./queue.suite.ts";

export const depth: QueueTheme = (check) => {
  check("WDS-34 WDS-221 waiting hints are counted for each pool and priority", async (broker) => {
    const sender = await broker.join();
    await sent(sender, [
      ...hints("a", { count: 3, priority: "high" }),
      ...hints("b", { count: 2, priority: "low" }),
      ...hints("c", { count: 4, pool: "other" }),
    ]);
    const counted = await eventually("all are counted", {
      ask: () => sender.depth(),
      holds: ({ waiting }) => waiting.reduce((sum, each) => sum + each.hints, 0) >= 9,
    });
    assert.deepEqual(
      new Map(counted.waiting.map((each) => [`${each.pool} ${each.priority}`, each.hints])),
      new Map([
        ["default high", 3],
        ["default normal", 0],
        ["default low", 2],
        ["other high", 0],
        ["other normal", 4],
        ["other low", 0],
      ]),
    );
    assert.equal(counted.parked, 0);
  });

  check("a hint that a consumer is handling does not count as waiting", async (broker) => {
    const queue = await broker.join();
    const held = heldHandler();
    const worker = new Worker(queue, { handle: held.handle });
    await sent(queue, hints("lane", { count: 3 }));
    await eventually("all are in hand", {
      ask: () => Promise.resolve(worker.begunIds),
      holds: ({ length }) => length === 3,
    });
    const { waiting } = await queue.depth();
    assert.deepEqual(
      waiting.map((each) => each.hints),
      [0, 0, 0],
    );
    held.release();
  });
};
