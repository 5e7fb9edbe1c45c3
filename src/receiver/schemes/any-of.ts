import type { MessageVerifier } from "../message/message.ts";
import { misconfigured } from "../providers/options.ts";
import { firstVerified } from "./first-match.ts";

/**
 * Accepts messages that at least one verifier accepts; the first that does determines scheme and producer. If none
 * does, the most informative rejection is returned: an altered body rather than another scheme's missing header. Throws
 * ReceiverError `misconfigured` without a verifier, which would accept nothing or, worse, everything.
 */
export function anyOf(verifiers: readonly MessageVerifier[]): MessageVerifier {
  // This also catches a single verifier that is not in a list, which has no length.
  if (!(verifiers.length > 0)) throw misconfigured("anyOf needs a list of at least one verifier");
  return {
    verify: (message, now) => firstVerified(verifiers, (verifier) => verifier.verify(message, now)),
  };
}
