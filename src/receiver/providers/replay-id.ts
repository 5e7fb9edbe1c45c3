import { concat } from "../crypto/concat.ts";
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import { hexOf } from "./bytes.ts";
import { andThen, type MaybePromise } from "../crypto/maybe-promise.ts";

/**
 * What a message that is sent again cannot change: a digest of all that was signed, the time included. Not of the signature:
 * some can be written in several ways, and of several that fit an attacker may leave one out.
 */
export function replayIdOf(crypto: ReceiverCrypto, signed: readonly Uint8Array[]): MaybePromise<string> {
  return andThen(crypto.digest({ hash: "sha256", data: concat(signed) }), hexOf);
}
