import assert from "node:assert/strict";
import { test } from "node:test";
import { challengeBody, isEcho } from "./challenge.ts";

test("an echo is the challenge itself, as text or as JSON", () => {
  for (const body of ["abc", " abc\r\n", '"abc"', '{"challenge":"abc"}', '{"ok":true,"challenge":"abc"}'])
    assert.equal(isEcho({ body, challenge: "abc" }), true, body);
  for (const body of [
    "",
    "ab",
    "abcd",
    "{}",
    "null",
    '{"challenge":"ab"}',
    '["abc"]',
    '{"challenge":["abc"]}',
    "{abc",
  ])
    assert.equal(isEcho({ body, challenge: "abc" }), false, body);
});

test("WDS-170 a receiver that returns whatever it gets passes, one that knows nothing does not", () => {
  assert.deepEqual(JSON.parse(challengeBody("abc")), {
    type: "posthorn.webhook.verification",
    challenge: "abc",
  });
  assert.equal(isEcho({ body: challengeBody("abc"), challenge: "abc" }), true);
  assert.equal(isEcho({ body: challengeBody("abc"), challenge: "abd" }), false);
});
