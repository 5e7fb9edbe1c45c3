import assert from "node:assert/strict";
import { test } from "node:test";
import { classify } from "../classify.ts";
import { createHealth, endpointPause, observeHealth } from "../endpoint-health.ts";
import { cloudEvents } from "./cloudevents.ts";

const now = 1_800_000_000_000;

function verdictOf(status: number) {
  return classify({ kind: "response", status, complete: true }, cloudEvents);
}

test("CEW-2.2-8 after a 410 nothing more is sent", () => {
  const observation = { verdict: verdictOf(410), statusCode: 410, now, exhausted: null };
  assert.equal(observation.verdict.outcome, "terminal");
  const decision = observeHealth(createHealth(), observation, cloudEvents.disable);
  assert.deepEqual(decision, { kind: "suspend", reason: "gone" });
});

test("CEW-2.2-10 a 429 closes the endpoint for as long as Retry-After says", () => {
  const pause = endpointPause(verdictOf(429), 429, 90_000, now, cloudEvents.pauses);
  assert.deepEqual(pause, { until: now + 90_000, reason: "retry_after" });
});

test("CEW-2.2-3 a redirect is a failure, and the owner is notified", () => {
  for (const status of [300, 301, 302, 303, 307, 308]) {
    const { outcome, category, attention } = verdictOf(status);
    assert.deepEqual([outcome, category, attention], ["transient", "redirect", "notify"]);
  }
});

test("CEW-2.2-12 other error codes have their HTTP meaning", () => {
  assert.equal(verdictOf(400).outcome, "terminal");
  assert.equal(verdictOf(500).outcome, "transient");
});

test("permission is required first and cannot be waived, and a token is required", () => {
  assert.deepEqual(cloudEvents.registration, {
    verification: "cloudevents",
    verificationRequired: true,
    bearerTokenRequired: true,
    permanentRedirectAllowed: false,
  });
});

test("each delivery names the sender, in both modes", () => {
  const origin = cloudEvents.headers.find(({ name }) => name === "WebHook-Request-Origin");
  assert.deepEqual(origin, { name: "WebHook-Request-Origin", value: "request_origin" });
  assert.deepEqual(cloudEvents.payloadFormats, ["cloudevents-structured", "cloudevents-binary"]);
});
