/** The common half of the providers that sign with a shared secret: read a claim, compare, accept. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier, ReceivedMessage, Verification } from "../message.ts";
import { andThen, whenAll } from "./maybe-promise.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import { replayIdOf } from "./replay-id.ts";
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
  /** The message id is in a header that nobody signed. */
  readonly isMessageIdUnsigned?: boolean;
  /** For a provider whose signed time is inside the body. Runs on authentic bytes alone. */
  bodyTimeOf?(message: ReceivedMessage, now: { readonly nowSeconds: number }): number | Rejected;
}

export function createHmacVerifier(crypto: ReceiverCrypto, scheme: HmacScheme): MessageVerifier {
  return {
    verify(message, now) {
      const claim = scheme.claimOf(message, now);
      if (isRejected(claim)) return claim;
      return andThen(matches({ crypto, scheme, claim }), (isAuthentic): MaybePromise<Verification> => {
        if (!isAuthentic) return rejected("no_matching_signature", "no signature fits a key");
        const timestampSeconds = scheme.bodyTimeOf?.(message, now) ?? claim.timestampSeconds;
        if (isRejected(timestampSeconds)) return timestampSeconds;
        const { name, producer } = scheme;
        const messageId = scheme.messageIdOf(message);
        const verified = { kind: "verified", scheme: name, producer, messageId, timestampSeconds } as const;
        const [signed] = claim.contents;
        const isIdSigned = messageId !== null && scheme.isMessageIdUnsigned !== true;
        // Without a signed time two messages may well be the same to the letter.
        if (isIdSigned || timestampSeconds === null || signed === undefined) return verified;
        return andThen(replayIdOf(crypto, signed), (replayId) => ({ ...verified, replayId }));
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
