import { concat } from "../crypto/concat.ts";
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import { hexOf } from "./bytes.ts";
import { andThen, type MaybePromise } from "../crypto/maybe-promise.ts";

/**
 * A value that a replayed message cannot change: a digest of all signed content, including the time. The signature is
 * not suitable, because some can be written in several ways, and an attacker may omit one of several valid ones.
 */
export function replayIdOf(crypto: ReceiverCrypto, signed: readonly Uint8Array[]): MaybePromise<string> {
  return andThen(crypto.digest({ hash: "sha256", data: concat(signed) }), hexOf);
}
