import assert from "node:assert/strict";
import { test } from "node:test";
import type { Webhook, WebhookStatus } from "../../domain/webhook.ts";
import { blankWebhook } from "../webhooks/webhook-input.ts";
import {
  afterVerification,
  isPermitted,
  pendingVerification,
  settled,
  type VerificationOutcome,
} from "./verification.ts";

const granted: VerificationOutcome = { kind: "granted", detail: "yes", allowedRatePerMinute: 100 };
const refused: VerificationOutcome = { kind: "refused", detail: "no" };
const waiting: VerificationOutcome = { kind: "waiting", detail: "not yet" };
const unreachable: VerificationOutcome = { kind: "unreachable", detail: "nobody there" };

function hook(whenUnsupported: "refuse" | "slow" = "refuse", status: WebhookStatus = "active"): Webhook {
  const verification = pendingVerification({
    method: "cloudevents",
    requestedRatePerMinute: null,
    whenUnsupported,
  });
  const waits = { ...verification, tokenDigest: "digest", tokenExpiresAt: 9 };
  return settled({ ...blankWebhook("w", "t", 0), status, verification: waits }, 1);
}

const after = (webhook: Webhook, outcome: VerificationOutcome) => afterVerification(webhook, outcome, 5);

test("a webhook waits until it is permitted, and stops when it is refused", () => {
  const pending = hook();
  assert.deepEqual(
    [pending.status, pending.statusReason, pending.statusChangedAt],
    ["unverified", "verification", 1],
  );
  const open = after(pending, granted);
  assert.deepEqual([open.status, open.statusReason, open.statusChangedAt], ["active", null, 5]);
  assert.deepEqual(
    [open.verification.state, open.verification.grantedAt, open.verification.allowedRatePerMinute],
    ["granted", 5, 100],
  );
  assert.equal(open.verification.tokenDigest, null, "a callback that is not needed any more is closed");
  const shut = after(open, refused);
  assert.deepEqual([shut.status, shut.verification.grantedAt], ["unverified", null]);
  assert.equal(shut.verification.allowedRatePerMinute, null);
});

test("an unreachable receiver keeps its state", () => {
  const open = after(hook(), granted);
  const still = after(open, unreachable);
  assert.deepEqual(
    [still.status, still.verification.state, still.verification.detail],
    ["active", "granted", "nobody there"],
  );
  assert.equal(after(hook(), unreachable).status, "unverified");
});

test("CEW-4-4 without support: nothing is sent, or one request a minute", () => {
  const quiet = after(hook("refuse"), waiting);
  assert.deepEqual([quiet.status, quiet.verification.allowedRatePerMinute], ["unverified", null]);
  const slow = after(hook("slow"), waiting);
  assert.deepEqual(
    [slow.status, slow.verification.state, slow.verification.allowedRatePerMinute],
    ["active", "pending", 1],
  );
  assert.equal(slow.verification.tokenDigest, "digest", "the callback can still permit more");
  assert.equal(
    after(hook("slow"), refused).status,
    "unverified",
    "who knows the handshake and says no gets nothing",
  );
  assert.equal(after(hook("slow"), unreachable).status, "unverified");
});

test("permission does not enable a webhook that its owner disabled", () => {
  const off = after(hook("refuse", "disabled"), granted);
  assert.deepEqual([off.status, isPermitted(off.verification)], ["disabled", true]);
});
