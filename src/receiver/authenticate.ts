import type { MessageVerifier, ReceivedMessage, Verification } from "./message/message.ts";
import { ReceiverError } from "./receiver-error.ts";
import { rejectionIncident, type SecurityIncident } from "./security-incident.ts";
import type { AcceptedVerification } from "./message/verified-message.ts";

interface AuthenticationRules {
  readonly verifier: MessageVerifier;
  readonly toleranceSeconds: number | null;
  /** True when repetitions are recognised, so that a scheme need not sign a time. */
  readonly isReplayStoppedOtherwise: boolean;
  /** Unix ms. */
  readonly now: number;
  readonly onIncident: (incident: SecurityIncident) => void;
}

/**
 * Who sent this, and is it fresh? Throws ReceiverError `unauthenticated`, whose answer does not tell an attacker what
 * was wrong; the incident does tell the application.
 */
export async function authenticate(
  message: ReceivedMessage,
  rules: AuthenticationRules,
): Promise<AcceptedVerification> {
  const nowSeconds = Math.floor(rules.now / 1_000);
  const verification = checkFreshness(
    await rules.verifier.verify(message, { nowSeconds }),
    nowSeconds,
    rules,
  );
  if (verification.kind === "rejected") {
    rules.onIncident(rejectionIncident(verification, new Date(rules.now)));
    const detail = "The message carries no valid proof of its sender.";
    throw new ReceiverError("unauthenticated", detail, { cause: verification.cause });
  }
  return verification;
}

/** Verifiers look at the time as well; this holds for those that do not, whatever their settings (TS16-83). */
function checkFreshness(
  verification: Verification,
  nowSeconds: number,
  { toleranceSeconds, isReplayStoppedOtherwise }: AuthenticationRules,
): Verification {
  if (verification.kind === "rejected" || toleranceSeconds === null) return verification;
  const { timestampSeconds, scheme } = verification;
  if (timestampSeconds === null) {
    if (isReplayStoppedOtherwise) return verification;
    // EDS-11.5-4
    const detail = `${scheme} signs no time, so a receiver without deduplication cannot tell a replayed message`;
    throw new ReceiverError("misconfigured", detail);
  }
  const ageSeconds = nowSeconds - timestampSeconds;
  if (Math.abs(ageSeconds) <= toleranceSeconds) return verification;
  const cause = ageSeconds > 0 ? "too_old" : "too_new";
  return { kind: "rejected", cause, detail: `the signed time is ${ageSeconds} s old` };
}
