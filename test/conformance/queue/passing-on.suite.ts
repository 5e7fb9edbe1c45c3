import assert from "node:assert/strict";
import { hint, hints, sent, until, Worker } from "./scene.fixture.ts";
import type { QueueTheme } from "./queue.suite.ts";

const passOn = (): Promise<"pass_on"> => Promise.resolve("pass_on");

export const passingOn: QueueTheme = (check) => {
  check("a hint that one consumer passes on reaches another one", async (broker) => {
    const sender = await broker.join();
    const unwilling = new Worker(await broker.join(), { handle: passOn });
    await sent(sender, hints("lane", { count: 20 }));
    await until("the unwilling one has seen them", () => new Set(unwilling.begunIds).size === 20);
    const willing = new Worker(await broker.join());
    await until("the willing one handles all", () => new Set(willing.doneIds).size === 20);
    assert.equal(unwilling.done.length, 0);
  });

  check("WDS-194 hints that no consumer wants cause no flood", async (broker) => {
    const sender = await broker.join();
    const unwilling = new Worker(await broker.join(), { handle: passOn });
    await sent(sender, [hint("unwanted")]);
    await until("it comes again", () => unwilling.begun.length >= 2);
    const startedAt = performance.now();
    const before = unwilling.begun.length;
    await until("and again and again", () => unwilling.begun.length >= before + 15);
    const roundMs = (performance.now() - startedAt) / 15;
    assert.ok(roundMs > 10, `a round took ${roundMs} ms`);
  });

  check("a hint is not parked, however often it is passed on", async (broker) => {
    const sender = await broker.join();
    let rounds = 0;
    const choosy = new Worker(await broker.join(), {
      handle: () => Promise.resolve((rounds += 1) > 15 ? ("done" as const) : ("pass_on" as const)),
    });
    await sent(sender, [hint("at-last")]);
    await until("it is handled", () => choosy.doneIds.includes("at-last"));
    assert.equal((await sender.depth()).parked, 0);
  });

  check("a hint behind it is not delayed", async (broker) => {
    const sender = await broker.join();
    const choosy = new Worker(await broker.join(), {
      handle: ({ lane }) => (lane.webhookId === "stuck" ? passOn() : Promise.resolve("done" as const)),
    });
    await sent(sender, [hint("stuck"), ...hints("lane", { count: 50 })]);
    await until("the others are handled", () => choosy.done.length === 50);
  });
};
