import type { MessageVerifier, Verification } from "../message/message.ts";
import { andThen, type MaybePromise } from "../crypto/maybe-promise.ts";
import { misconfigured } from "../providers/options.ts";

/**
 * Accepts only messages that every verifier accepts, such as a signature and a bearer token. They run in order, and the
 * first rejection is returned. The first verifier determines the producer; message id and time come from the first that
 * has them; `scheme` joins all with `+`. Throws ReceiverError `misconfigured` without a verifier.
 */
export function allOf(verifiers: readonly MessageVerifier[]): MessageVerifier {
  const [first, ...others] = verifiers.length > 0 ? verifiers : [];
  if (first === undefined) throw misconfigured("allOf needs a list of at least one verifier");
  return {
    verify: (message, now) =>
      others.reduce<MaybePromise<Verification>>(
        (before, verifier) =>
          andThen(before, (left) => {
            if (left.kind === "rejected") return left;
            return andThen(verifier.verify(message, now), (right) => combined(left, right));
          }),
        first.verify(message, now),
      ),
  };
}

/** Combines the results of two verifiers that accepted the same message. */
export function combined(
  left: Extract<Verification, { kind: "verified" }>,
  right: Verification,
): Verification {
  if (right.kind === "rejected") return right;
  const replayId = left.replayId ?? right.replayId;
  return {
    kind: "verified",
    scheme: `${left.scheme}+${right.scheme}`,
    producer: left.producer,
    messageId: left.messageId ?? right.messageId,
    timestampSeconds: left.timestampSeconds ?? right.timestampSeconds,
    ...(replayId !== undefined && { replayId }),
    ...((left.isKeyAuthentic === true || right.isKeyAuthentic === true) && { isKeyAuthentic: true }),
  };
}
