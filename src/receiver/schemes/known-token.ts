import type { ReceiverCrypto } from "../crypto/crypto.ts";

/** A secret that senders show as it is. */
export interface KnownToken {
  readonly producer: string;
  readonly value: Uint8Array;
}

/** The producer whose token was given, or null. All are compared, so that the time does not tell which one came close. */
export function producerOf(
  crypto: ReceiverCrypto,
  { known, given }: { readonly known: readonly KnownToken[]; readonly given: Uint8Array },
): string | null {
  let producer: string | null = null;
  for (const { producer: name, value } of known) {
    if (crypto.equal(given, value)) producer ??= name;
  }
  return producer;
}
