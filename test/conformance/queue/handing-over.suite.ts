import assert from "node:assert/strict";
import { eventually } from "../../scenarios/eventually.fixture.ts";
import { heldHandler, idsOf, hint, hints, sent, until, Worker } from "./scene.fixture.ts";
import type { QueueTheme } from "./queue.suite.ts";

const hundred = hints("lane", { count: 100 });

export const handingOver: QueueTheme = (check) => {
  check("a hint goes to one of several consumers of its pool, and all get work", async (broker) => {
    const sender = await broker.join();
    const workers = [new Worker(await broker.join()), new Worker(await broker.join())];
    // A consumer needs a moment to register. Without the wait, the first one would get all hints.
    await until("both have work", () => {
      sender.send([hint("warm-up")]);
      return workers.every(({ done }) => done.length > 0);
    });
    await sent(sender, hundred);
    const arrived = (): string[] =>
      workers.flatMap(({ doneIds }) => doneIds).filter((id) => id !== "warm-up");
    await until("all are handled", () => arrived().length >= hundred.length);
    await sent(sender, [hint("marker")]);
    await until("what came behind is handled", () => arrived().includes("marker"));
    assert.deepEqual(arrived().toSorted(), [...idsOf(hundred), "marker"].toSorted());
  });

  check("every field of a hint arrives", async (broker) => {
    const sender = await broker.join();
    const worker = new Worker(await broker.join(), { pool: "großkunden" });
    const given = [
      hint("a", { pool: "großkunden", priority: "high" }),
      hint("b", {
        pool: "großkunden",
        lane: { webhookId: "b", ordering: "per_event_type", eventType: 'order."created" ü' },
      }),
      hint("c", {
        pool: "großkunden",
        priority: "low",
        lane: { webhookId: "c", ordering: "strict", eventType: null },
      }),
    ];
    await sent(sender, given);
    await until("all are handled", () => worker.done.length === 3);
    const byId = worker.done.toSorted((a, b) => a.lane.webhookId.localeCompare(b.lane.webhookId));
    assert.deepEqual(byId, given);
  });

  check("hints sent before there is a consumer wait for one", async (broker) => {
    const sender = await broker.join();
    await sent(sender, [hint("early")]);
    await until("it is carried", () => sender.isConnected);
    const worker = new Worker(await broker.join());
    await until("it is handled", () => worker.doneIds.includes("early"));
  });

  check("WDS-220 a pool does not get hints for another one", async (broker) => {
    const sender = await broker.join();
    const here = new Worker(await broker.join(), { pool: "here" });
    const there = new Worker(await broker.join(), { pool: "there" });
    await sent(sender, [
      ...hints("a", { count: 20, pool: "here" }),
      ...hints("b", { count: 20, pool: "there" }),
    ]);
    await until("all are handled", () => here.done.length >= 20 && there.done.length >= 20);
    assert.ok(here.doneIds.every((id) => id.startsWith("a-")));
    assert.ok(there.doneIds.every((id) => id.startsWith("b-")));
  });

  check("WDS-211 unhandled hints of a lost consumer go to another one", async (broker) => {
    const sender = await broker.join();
    const held = heldHandler();
    const first = new Worker(await broker.join(), { handle: held.handle });
    await sent(sender, hundred);
    await until("the first one has its hands full", () => first.begun.length >= 8);
    const second = new Worker(await broker.join());
    broker.cut(first.queue);
    await until("the second one handles all", () => new Set(second.doneIds).size === hundred.length);
    held.release();
  });

  check("finished hints are not handed over again when their consumer is lost", async (broker) => {
    const sender = await broker.join();
    const held = heldHandler();
    const first = new Worker(await broker.join(), {
      handle: (given) =>
        given.lane.webhookId === "stuck" ? held.handle(given) : Promise.resolve("done" as const),
    });
    await sent(sender, [...hundred, hint("stuck")]);
    await until("all but one are handled", () => first.done.length === 100 && first.begun.length === 101);
    await eventually("nothing waits", {
      ask: () => sender.depth(),
      holds: ({ waiting }) => waiting.every((each) => each.hints === 0),
    });
    broker.cut(first.queue);
    const second = new Worker(await broker.join());
    await until("the second one handles the rest", () => second.doneIds.includes("stuck"));
    assert.ok(second.done.length < hundred.length / 2, `${second.done.length} were handed over again`);
    held.release();
  });
};
