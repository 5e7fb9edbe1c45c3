import type { MessageVerifier, ReceivedMessage, Verification } from "./message/message.ts";
import { ReceiverError } from "./receiver-error.ts";
import { rejectionIncident, type SecurityIncident } from "./security-incident.ts";
import type { AcceptedVerification } from "./message/verified-message.ts";

interface AuthenticationRules {
  readonly verifier: MessageVerifier;
  readonly toleranceSeconds: number | null;
  /** True if repeated messages are detected, so that a scheme need not sign a time. */
  readonly isReplayStoppedOtherwise: boolean;
  /** Unix ms. */
  readonly now: number;
  readonly onIncident: (incident: SecurityIncident) => void;
}

/**
 * Identifies the sender and checks that the message is fresh. Throws ReceiverError `unauthenticated`, whose response
 * hides the cause from an attacker; the incident reports it to the application.
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

/** Verifiers check the time themselves; this covers verifiers that do not. */
function checkFreshness(
  verification: Verification,
  nowSeconds: number,
  { toleranceSeconds, isReplayStoppedOtherwise }: AuthenticationRules,
): Verification {
  if (verification.kind === "rejected" || toleranceSeconds === null) return verification;
  const { timestampSeconds, scheme } = verification;
  if (timestampSeconds === null) {
    if (isReplayStoppedOtherwise) return verification;
    // Deduplication is the only protection against replays here (EDS-11.5-4).
    const detail = `${scheme} signs no time, so a receiver without deduplication cannot detect a replayed message`;
    throw new ReceiverError("misconfigured", detail);
  }
  const ageSeconds = nowSeconds - timestampSeconds;
  if (Math.abs(ageSeconds) <= toleranceSeconds) return verification;
  const cause = ageSeconds > 0 ? "too_old" : "too_new";
  return { kind: "rejected", cause, detail: `the signed time is ${ageSeconds} s old` };
}
