import assert from "node:assert/strict";
import { test } from "node:test";
import { challengeBody, isEcho } from "./verification.ts";

test("an echo is the challenge itself, as text or as JSON", () => {
  for (const body of ["abc", " abc\r\n", '"abc"', '{"challenge":"abc"}', '{"ok":true,"challenge":"abc"}'])
    assert.equal(isEcho(body, "abc"), true, body);
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
    assert.equal(isEcho(body, "abc"), false, body);
});

test("WDS-170 a receiver that echoes the request passes, one without support does not", () => {
  assert.deepEqual(JSON.parse(challengeBody("abc")), {
    type: "posthorn.webhook.verification",
    challenge: "abc",
  });
  assert.equal(isEcho(challengeBody("abc"), "abc"), true);
  assert.equal(isEcho(challengeBody("abc"), "abd"), false);
});
