import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import type { RedisClient } from "./client.ts";
import { Connection } from "./connection.ts";

/** A client whose server is scripted by the test. */
class ScriptedClient extends EventEmitter {
  readonly dialled: Promise<undefined>;
  discarded = 0;

  constructor(dialled: Promise<undefined>) {
    super();
    this.dialled = dialled;
  }

  async connect(): Promise<undefined> {
    return this.dialled;
  }

  async ping(): Promise<string> {
    return "PONG";
  }

  destroy(): void {
    this.discarded += 1;
  }
}

const accepted = async (): Promise<undefined> => undefined;
const refused = (): Promise<undefined> => Promise.reject(new Error("refused"));

class World {
  readonly clock = new ManualClock();
  readonly clients: ScriptedClient[] = [];
  readonly events: string[] = [];
  /** The outcome of the next connection attempt. */
  dial: () => Promise<undefined> = accepted;
  chance = 0;
  readonly connection = new Connection({
    newClient: () => {
      const client = new ScriptedClient(this.dial());
      this.clients.push(client);
      return client as unknown as RedisClient;
    },
    prepare: async () => undefined,
    clock: this.clock,
    random: { uniform: () => this.chance, bytes: (count) => new Uint8Array(count) },
    lost: () => this.events.push("lost"),
    stillLost: () => undefined,
    restored: () => this.events.push("restored"),
  });

  get newest(): ScriptedClient {
    const client = this.clients.at(-1);
    assert.ok(client !== undefined);
    return client;
  }

  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    for (let turns = 0; turns < 3; turns += 1) await this.clock.turn();
  }
}

test("reconnection attempts follow after 100 ms at first, then increasingly slowly, up to 2 s", async () => {
  for (const { chance, gaps } of [
    { chance: 0, gaps: [50, 100, 200, 400, 800, 1_000, 1_000, 1_000] },
    { chance: 0.999_999, gaps: [100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000] },
  ]) {
    const world = new World();
    await world.connection.open(5_000);
    world.dial = refused;
    world.chance = chance;
    world.newest.emit("error", new Error("gone"));
    const seen: number[] = [];
    for (const _ of gaps) {
      const { length } = world.clients;
      let waitedMs = 0;
      for (; world.clients.length === length && waitedMs < 10_000; waitedMs += 10) await world.advance(10);
      seen.push(waitedMs);
    }
    assert.deepEqual(seen, gaps);
    assert.deepEqual(world.events, ["lost"]);
    world.dial = accepted;
    await world.advance(2_000);
    assert.deepEqual(world.events, ["lost", "restored"]);
    // At the next outage, the pauses between attempts are short again.
    world.newest.emit("error", new Error("gone"));
    const { length } = world.clients;
    await world.advance(100);
    assert.equal(world.clients.length, length + 1);
    world.connection.close();
  }
});

test("a client abandoned while dialing is closed when it connects later", async () => {
  const world = new World();
  await world.connection.open(5_000);
  world.newest.emit("error", new Error("gone"));
  const late = Promise.withResolvers<undefined>();
  world.dial = () => late.promise;
  await world.advance(100);
  const dialling = world.newest;
  await world.advance(2_000);
  const { discarded } = dialling;
  assert.ok(discarded > 0);
  late.resolve(undefined);
  await world.advance(0);
  assert.ok(dialling.discarded > discarded);
  assert.deepEqual(world.events, ["lost"]);
  world.connection.close();
});

for (const { when, dial } of [
  { when: "connected", dial: null },
  { when: "waiting for the next attempt", dial: refused },
  { when: "dialling", dial: (): Promise<undefined> => new Promise(() => undefined) },
]) {
  test(`after closing while ${when} nothing keeps the process alive`, async () => {
    const world = new World();
    await world.connection.open(5_000);
    const client = world.newest;
    if (dial !== null) {
      world.dial = dial;
      client.emit("error", new Error("gone"));
    }
    await world.advance(60);
    assert.equal(world.clock.timers, 1);
    world.connection.close();
    world.connection.close();
    client.emit("error", new Error("gone"));
    await world.advance(0);
    assert.equal(world.clock.timers, 0);
    assert.equal(world.connection.client, null);
    assert.deepEqual(world.events, dial === null ? [] : ["lost"]);
    assert.ok(world.clients.every(({ discarded }) => discarded > 0));
  });
}
