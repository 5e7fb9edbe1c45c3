import type { MessageVerifier } from "../message/message.ts";
import { misconfigured } from "../providers/options.ts";
import { firstVerified } from "./first-match.ts";

/**
 * Accepts what at least one of the verifiers accepts; the first one that does names scheme and producer. When none does,
 * the most telling rejection is the answer: an altered body rather than another scheme's missing header. Throws
 * ReceiverError `misconfigured` without a verifier, because that would accept nothing or, worse, everything.
 */
export function anyOf(verifiers: readonly MessageVerifier[]): MessageVerifier {
  // Also a verifier that is not in a list has no length.
  if (!(verifiers.length > 0)) throw misconfigured("anyOf needs a list of at least one verifier");
  return {
    verify: (message, now) => firstVerified(verifiers, (verifier) => verifier.verify(message, now)),
  };
}
