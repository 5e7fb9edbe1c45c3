import assert from "node:assert/strict";
import { eventually } from "../../scenarios/eventually.fixture.ts";
import { heldHandler, hint, sent, until, Worker } from "./scene.fixture.ts";
import type { QueueTheme } from "./queue.suite.ts";

/** More often than any adapter redelivers a hint after losing its consumers. */
const lossesMany = 30;

export const handedOutTooOften: QueueTheme = (check) => {
  check("a hint whose consumers are lost repeatedly is parked, and others continue", async (broker) => {
    const sender = await broker.join();
    await sent(sender, [hint("deadly")]);
    let losses = 0;
    for (; losses < lossesMany; losses += 1) {
      const held = heldHandler();
      const victim = new Worker(await broker.join(), { handle: held.handle });
      const end = await eventually("it is handed over, or parked", {
        ask: async () => {
          if (victim.begun.length > 0) return "handed over";
          return (await sender.depth()).parked > 0 ? "parked" : "neither";
        },
        holds: (answer) => answer !== "neither",
      });
      if (end === "handed over") broker.cut(victim.queue);
      else await victim.queue.stopConsuming();
      held.release();
      if (end === "parked") break;
    }
    assert.ok(losses >= 3 && losses < lossesMany, `parked after ${losses} losses`);
    const worker = new Worker(await broker.join());
    await sent(sender, [hint("harmless")]);
    await until("others are handled", () => worker.doneIds.includes("harmless"));
    assert.ok(!worker.begunIds.includes("deadly"));
  });
};

export const unreadable: QueueTheme = (check) => {
  check("an unreadable message is parked and counted, and those behind it are handled", async (broker) => {
    const sender = await broker.join();
    const worker = new Worker(await broker.join());
    await sent(sender, [hint("before")]);
    await until("it consumes", () => worker.doneIds.includes("before"));
    await broker.putUnreadable?.("default");
    await sent(sender, [hint("behind")]);
    await until("it goes on", () => worker.doneIds.includes("behind"));
    await eventually("it is counted", {
      ask: () => sender.depth(),
      holds: (depth) => depth.parked === 1,
    });
    assert.deepEqual(worker.doneIds, ["before", "behind"]);
  });
};
