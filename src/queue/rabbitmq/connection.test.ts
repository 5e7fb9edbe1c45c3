import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import type { LogFields, Logger } from "../../ports/telemetry.ts";
import { Connection, type Losable } from "./connection.ts";

/** A session that ends when the test ends it. */
class FakeSession implements Losable {
  isEnded = false;
  #listener: (reason: string) => void = () => undefined;

  onLost(listener: (reason: string) => void): void {
    this.#listener = listener;
  }

  lose(): void {
    this.#listener("cut");
  }

  end(): Promise<void> {
    this.isEnded = true;
    return Promise.resolve();
  }
}

interface World {
  readonly clock: ManualClock;
  readonly connection: Connection<FakeSession>;
  /** Times of the connection attempts. */
  readonly attempts: number[];
  readonly sessions: FakeSession[];
  readonly lines: { readonly level: string; readonly fields: LogFields }[];
  readonly calls: string[];
  isAway: boolean;
}

function world(): World {
  const clock = new ManualClock();
  const lines: World["lines"] = [];
  const note =
    (level: string) =>
    (fields: LogFields): void =>
      void lines.push({ level, fields });
  const log: Logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
  const made: World = {
    clock,
    attempts: [],
    sessions: [],
    lines,
    calls: [],
    isAway: false,
    connection: new Connection<FakeSession>({
      connect: () => {
        made.attempts.push(clock.monotonicMs());
        if (made.isAway) return Promise.reject(new Error("refused"));
        const session = new FakeSession();
        made.sessions.push(session);
        return Promise.resolve(session);
      },
      up: () => {
        made.calls.push("up");
        return Promise.resolve();
      },
      down: () => void made.calls.push("down"),
      clock,
      random: { uniform: () => 0.5 },
      log,
      at: "rabbit:5672/",
    }),
  };
  return made;
}

/** Advances the clock until `count` more attempts have been made. */
async function attempt({ clock, attempts }: World, count: number): Promise<void> {
  const wanted = attempts.length + count;
  for (let step = 0; attempts.length < wanted; step += 1) {
    assert.ok(step < 100_000, "no attempt was made");
    clock.advance(50);
    await clock.turn();
  }
}

const hourMs = 3_600_000;

suite("connection", () => {
  test("WDS-210 a lost connection is reopened after pauses that grow to five minutes", async () => {
    const it = world();
    await it.connection.open();
    it.clock.advance(hourMs);
    it.isAway = true;
    it.sessions[0]?.lose();
    const lostAt = it.clock.monotonicMs();
    await attempt(it, 16);
    const gaps = it.attempts
      .slice(1)
      .map((at, index) => at - (index === 0 ? lostAt : (it.attempts[index] ?? 0)));
    assert.ok((gaps[0] ?? 0) <= 500, String(gaps));
    for (const [index, gap] of gaps.entries()) {
      assert.ok(gap <= 300_000, String(gaps));
      assert.ok(gap > (gaps[index - 1] ?? 0) || gap > 200_000, String(gaps));
    }
    it.isAway = false;
    await attempt(it, 1);
    assert.notEqual(it.connection.session, null);
    await it.connection.close();
  });

  test("WDS-212 three failed attempts in a row log one error to alert on", async () => {
    const it = world();
    await it.connection.open();
    it.clock.advance(hourMs);
    it.isAway = true;
    it.sessions[0]?.lose();
    await attempt(it, 2);
    const errors = (): LogFields[] =>
      it.lines.filter(({ level }) => level === "error").map(({ fields }) => fields);
    assert.deepEqual(errors(), []);
    await attempt(it, 1);
    assert.equal(errors().length, 1);
    assert.equal(errors()[0]?.["failedAttempts"], 3);
    assert.equal(errors()[0]?.["reason"], "refused");
    assert.equal(it.connection.failedAttempts, 3);
    await attempt(it, 8);
    assert.equal(errors().length, 1);
    it.isAway = false;
    await attempt(it, 1);
    assert.equal(it.lines.at(-1)?.level, "info");
    it.clock.advance(hourMs);
    it.isAway = true;
    it.sessions.at(-1)?.lose();
    await attempt(it, 3);
    assert.equal(errors().length, 2);
    await it.connection.close();
  });

  test("a connection that dies at once is not reopened without a pause", async () => {
    const it = world();
    await it.connection.open();
    it.sessions[0]?.lose();
    for (let round = 1; round <= 8; round += 1) {
      await attempt(it, 1);
      it.sessions.at(-1)?.lose();
    }
    const gaps = it.attempts.slice(1).map((at, index) => at - (it.attempts[index] ?? 0));
    assert.ok((gaps.at(-1) ?? 0) > 10 * (gaps[0] ?? 0), String(gaps));
    assert.equal(it.lines.filter(({ level }) => level === "error").length, 1);
    await it.connection.close();
  });

  test("the contents of a session are torn down and set up again", async () => {
    const it = world();
    await it.connection.open();
    it.sessions[0]?.lose();
    assert.equal(it.connection.session, null);
    await attempt(it, 1);
    assert.deepEqual(it.calls, ["up", "down", "up"]);
    assert.equal(it.connection.session, it.sessions[1]);
    assert.equal(it.connection.losses, 1);
    await it.connection.close();
    assert.equal(it.sessions[1]?.isEnded, true);
    assert.deepEqual(it.calls, ["up", "down", "up", "down"]);
  });

  test("the first connection is tried once, and its error is thrown", async () => {
    const it = world();
    it.isAway = true;
    await assert.rejects(it.connection.open(), /refused/);
    assert.equal(it.clock.timers, 0);
  });

  test("closing while the broker is away ends the attempts", async () => {
    const it = world();
    await it.connection.open();
    it.isAway = true;
    it.sessions[0]?.lose();
    await attempt(it, 1);
    await it.connection.close();
    await it.connection.close();
    assert.equal(it.clock.timers, 0);
  });
});
