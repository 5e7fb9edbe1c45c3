import assert from "node:assert/strict";
import { priorities } from "../../../src/domain/delivery.ts";
import { heldHandler, hint, hints, sent, until, Worker } from "./scene.fixture.ts";
import type { QueueTheme } from "./queue.suite.ts";

export const prioritiesTheme: QueueTheme = (check) => {
  check("WDS-177 a high-priority hint is handed over although many low ones wait", async (broker) => {
    const sender = await broker.join();
    const held = heldHandler();
    const worker = new Worker(await broker.join(), { handle: held.handle });
    await sent(sender, hints("low", { count: 500, priority: "low" }));
    await until("the consumer has its hands full of low ones", () => worker.begun.length >= 4);
    await sent(sender, [hint("urgent", { priority: "high" })]);
    await until("the high one is handed over", () => worker.begunIds.includes("urgent"));
    assert.ok(worker.begun.length < 100, `${worker.begun.length} were begun before it`);
    held.release();
  });

  check("a consumer gets a bounded number of hints at a time", async (broker) => {
    const sender = await broker.join();
    const held = heldHandler();
    const worker = new Worker(await broker.join(), { handle: held.handle });
    for (const priority of priorities) await sent(sender, hints(priority, { count: 200, priority }));
    await until("it has some in hand", () => worker.begun.length > 0);
    const other = new Worker(await broker.join());
    await until("the other one handles what the first one cannot take", () => other.done.length >= 400);
    assert.ok(worker.begun.length < 200, `${worker.begun.length} in hand`);
    held.release();
  });

  check(
    "WDS-221 no priority starves while higher ones keep arriving, and higher ones are faster",
    async (broker) => {
      const sender = await broker.join();
      const counts = { high: 0, normal: 0, low: 0 };
      let refill = true;
      for (const priority of priorities) await sent(sender, hints(priority, { count: 200, priority }));
      const worker = new Worker(await broker.join(), {
        // Each hint takes the same time, so that the counts show the order of delivery.
        handle: async ({ priority }) => {
          await new Promise((resolve) => setTimeout(resolve, 5));
          counts[priority] += 1;
          if (refill) sender.send([hint(`more-${priority}-${counts[priority]}`, { priority })]);
          return "done";
        },
      });
      await until("low ones are handled beside the others", () => counts.low >= 50);
      refill = false;
      assert.ok(counts.high > counts.normal && counts.normal > counts.low, JSON.stringify(counts));
      assert.ok(worker.begun.length > 0);
    },
  );
};
