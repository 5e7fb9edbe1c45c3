import type { ReceiverCrypto } from "../crypto/crypto.ts";

/** A secret that senders send unchanged. */
export interface KnownToken {
  readonly producer: string;
  readonly value: Uint8Array;
}

/**
 * The producer of the given token, or null. All tokens are compared, so that the duration reveals nothing about partial
 * matches.
 */
export function producerOf(
  crypto: ReceiverCrypto,
  known: readonly KnownToken[],
  given: Uint8Array,
): string | null {
  let producer: string | null = null;
  for (const { producer: name, value } of known) {
    if (crypto.equal(given, value)) producer ??= name;
  }
  return producer;
}
