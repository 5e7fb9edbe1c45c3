import { strict as assert } from "node:assert";
import { test } from "node:test";
import { systemClock } from "../../system/clock.ts";
import { TlsSessions } from "./tls-identities.ts";

test("a session is kept by its key for an hour, and the oldest is evicted", () => {
  let nowMs = 0;
  const sessions = new TlsSessions({ ...systemClock, monotonicMs: () => nowMs });
  sessions.set("a.test:443 h1", Buffer.from("a"));
  nowMs += 60 * 60_000 - 1;
  assert.equal(sessions.get("a.test:443 h1")?.toString(), "a");
  assert.equal(sessions.get("a.test:443 h2"), null);
  nowMs += 1;
  assert.equal(sessions.get("a.test:443 h1"), null);
  for (let index = 0; index <= 4096; index++) sessions.set(`${index}`, Buffer.from("s"));
  assert.equal(sessions.get("0"), null);
  assert.equal(sessions.get("1")?.toString(), "s");
});
