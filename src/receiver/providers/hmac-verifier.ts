/** The common half of the providers that sign with a shared secret: read a claim, compare, accept. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier, ReceivedMessage, Verification } from "../message.ts";
import { andThen, whenAll } from "./maybe-promise.ts";
import { isRejected, rejected } from "./reading.ts";
import type { Rejected } from "./reading.ts";

/** What a message says of itself, not believed yet. */
export interface HmacClaim {
  /** What must have been signed, in pieces. Several when the provider writes one address in more than one way. */
  readonly contents: readonly (readonly Uint8Array[])[];
  /** One of these has to fit one of the contents under one of the keys. */
  readonly signatures: readonly Uint8Array[];
  /** Judged already; null when no signed time is in the headers. */
  readonly timestampSeconds: number | null;
}

export interface HmacScheme {
  readonly name: string;
  readonly producer: string;
  readonly hash: "sha1" | "sha256";
  readonly keys: readonly Uint8Array[];
  claimOf(message: ReceivedMessage, now: { readonly nowSeconds: number }): HmacClaim | Rejected;
  /** Runs on authentic bytes alone. */
  messageIdOf(message: ReceivedMessage): string | null;
  /** For a provider whose signed time is inside the body. Runs on authentic bytes alone. */
  bodyTimeOf?(message: ReceivedMessage, now: { readonly nowSeconds: number }): number | Rejected;
}

export function createHmacVerifier(crypto: ReceiverCrypto, scheme: HmacScheme): MessageVerifier {
  return {
    verify(message, now) {
      const claim = scheme.claimOf(message, now);
      if (isRejected(claim)) return claim;
      return andThen(matches({ crypto, scheme, claim }), (isAuthentic): Verification => {
        if (!isAuthentic) return rejected("no_matching_signature", "no signature fits a key");
        const timestampSeconds = scheme.bodyTimeOf?.(message, now) ?? claim.timestampSeconds;
        if (isRejected(timestampSeconds)) return timestampSeconds;
        return {
          kind: "verified",
          scheme: scheme.name,
          producer: scheme.producer,
          messageId: scheme.messageIdOf(message),
          timestampSeconds,
        };
      });
    },
  };
}

function matches({
  crypto,
  scheme,
  claim,
}: {
  readonly crypto: ReceiverCrypto;
  readonly scheme: HmacScheme;
  readonly claim: HmacClaim;
}) {
  const { hash, keys } = scheme;
  const macs = claim.contents.flatMap((data) => keys.map((key) => crypto.hmac({ hash, key, data })));
  return andThen(whenAll(macs), (expected) =>
    claim.signatures.some((signature) => expected.some((mac) => crypto.equal(mac, signature))),
  );
}
