import assert from "node:assert/strict";
import { test } from "node:test";
import { challengeBody, isEcho } from "../../src/features/verification/verification.ts";
import { endpointWith } from "./endpoint.fixture.ts";

const ask = (options: { readonly echoesChallenges?: boolean }, body: string) =>
  endpointWith(options).send({ method: "POST", headers: { "content-type": "application/json" }, body });

test("WDS-170 a receiver that is configured to echoes the unsigned challenge of a registration", async () => {
  const challenge = "aZ09_-~.+/=";
  const answer = await ask({ echoesChallenges: true }, challengeBody(challenge));
  assert.equal(answer.status, 200);
  assert.equal(isEcho(String(answer.body), challenge), true);
  assert.equal(answer.headers["content-type"], "text/plain; charset=utf-8");
});

test("anything else is verified and handled like any message, and so is a challenge unless configured", async () => {
  const others = [
    challengeBody("<script>"),
    challengeBody("x".repeat(513)),
    JSON.stringify({ type: "order.created", challenge: "abc" }),
    JSON.stringify({ type: "posthorn.webhook.verification" }),
    "null",
    "{broken",
  ];
  for (const body of others) {
    assert.equal((await ask({ echoesChallenges: true }, body)).status, 204, body);
  }
  assert.equal((await ask({}, challengeBody("abc"))).status, 204);
});
