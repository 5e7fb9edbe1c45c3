import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { randomBytes } from "node:crypto";
import { createKeyRing, createSecretBox } from "../system/keys/secret-box.ts";
import { Sessions } from "./dashboard-sessions.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Sessions with one key and a manual clock. */
function open() {
  const random = { bytes: (count: number) => randomBytes(count), uniform: () => 0.5 };
  const ring = createKeyRing(randomBytes(32), [], random);
  const secretBox = createSecretBox(ring, randomBytes(32));
  const keys = new Set(["hash of key"]);
  const clock = { time: 1_000, now: () => clock.time };
  const apiKeys = {
    hashOf: (key: string) => `hash of ${key}`,
    holderOf: (hash: string) =>
      keys.has(hash) ? { keyId: "1", role: "manage" as const, tenantId: "acme" } : null,
  };
  const options = { secretBox, apiKeys, clock, random };
  return { sessions: new Sessions(options), another: new Sessions(options), keys, clock };
}

suite("sessions of the dashboard", () => {
  test("a session has the rights of its key, in any process with the master key, and ends with the key", () => {
    const { sessions, another, keys } = open();
    assert.equal(sessions.login("wrong"), null);
    const { session } = sessions.login("key") ?? assert.fail();
    const { token } = sessions.cookieOf(session);
    assert.deepEqual(another.find(token)?.principal, { keyId: "1", role: "manage", tenantId: "acme" });
    keys.clear();
    assert.equal(sessions.find(token), null);
  });

  test("it ends after an hour of inactivity, and after twelve in any case", () => {
    const { sessions, clock } = open();
    let { session } = sessions.login("key") ?? assert.fail();
    assert.equal(sessions.renewed(session), null, "a fresh one is not renewed");
    const idle = sessions.cookieOf(session).token;
    for (let minutes = 50; minutes < 12 * 60; minutes += 50) {
      clock.time = 1_000 + minutes * minuteMs;
      session = sessions.renewed(session) ?? assert.fail();
    }
    assert.equal(sessions.find(idle), null, "the token that nobody renewed");
    const { token, seconds } = sessions.cookieOf(session);
    assert.notEqual(sessions.find(token), null);
    assert.ok(seconds <= 50 * 60, "a browser keeps it no longer than it lasts");
    clock.time = 1_000 + 12 * hourMs;
    assert.equal(sessions.find(token), null);
  });

  test("logging out ends all tokens of the session", () => {
    const { sessions, clock } = open();
    const { session } = sessions.login("key") ?? assert.fail();
    clock.time += 10 * minuteMs;
    const renewed = sessions.renewed(session) ?? assert.fail();
    sessions.end(session);
    for (const one of [session, renewed]) assert.equal(sessions.find(sessions.cookieOf(one).token), null);
  });

  test("a code is accepted once, for five minutes", () => {
    const { sessions, clock } = open();
    const { code } = sessions.createCode("key");
    assert.equal(sessions.redeem(`${code}x`), null);
    assert.notEqual(sessions.redeem(code), null);
    assert.equal(sessions.redeem(code), null, "used");
    const late = sessions.createCode("key");
    clock.time += 5 * minuteMs;
    assert.equal(sessions.redeem(late.code), null, "too old");
  });

  test("an invalid token is not a session, however it looks", () => {
    const { sessions } = open();
    const { session } = sessions.login("key") ?? assert.fail();
    const { token } = sessions.cookieOf(session);
    const changed = `${token.slice(0, -4)}AAAA`;
    for (const text of [
      "",
      "x",
      changed,
      token.slice(0, 40),
      "A".repeat(5_000),
      open().sessions.cookieOf(session).token,
    ]) {
      assert.equal(sessions.find(text), null);
    }
  });
});
