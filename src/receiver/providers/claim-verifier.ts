/** The part that all providers share: read a claim, verify it, and accept it. */

import { andThen, type MaybePromise, type ReceiverCrypto, whenAll } from "../crypto/crypto.ts";
import type { MessageVerifier, ReceivedMessage, Verification, VerificationTime } from "../message/message.ts";
import { isRejected, type Rejected, rejected, replayIdOf } from "./reading.ts";

/** Data that a message claims before it is verified. */
export interface Claim {
  /**
   * The signed content, in pieces. Lists several alternatives if the provider may have signed different spellings of
   * the URL.
   */
  readonly contents: readonly (readonly Uint8Array[])[];
  /** At least one of these signatures must match one of the contents under one of the keys. */
  readonly signatures: readonly Uint8Array[];
  /** The signed timestamp, which was already checked; null if the headers do not contain one. */
  readonly timestampSeconds: number | null;
}

export type Proof = (claim: Claim) => MaybePromise<boolean>;

export interface ClaimScheme {
  readonly name: string;
  readonly producer: string;
  readonly proof: Proof;
  claimOf(message: ReceivedMessage, now: VerificationTime): Claim | Rejected;
  /** Called only with authentic bytes. */
  messageIdOf(message: ReceivedMessage): string | null;
  /** The message id is in an unsigned header. */
  readonly isMessageIdUnsigned: boolean;
  /** For a provider whose signed timestamp is inside the body. Called only with authentic bytes. */
  bodyTimeOf?(message: ReceivedMessage, now: VerificationTime): number | Rejected;
}

export function createClaimVerifier(crypto: ReceiverCrypto, scheme: ClaimScheme): MessageVerifier {
  return {
    verify(message, now) {
      const claim = scheme.claimOf(message, now);
      if (isRejected(claim)) return claim;
      return andThen(scheme.proof(claim), (isAuthentic): MaybePromise<Verification> => {
        if (!isAuthentic) return rejected("no_matching_signature", "no signature matches a key");
        const timestampSeconds = scheme.bodyTimeOf?.(message, now) ?? claim.timestampSeconds;
        if (isRejected(timestampSeconds)) return timestampSeconds;
        const { name, producer } = scheme;
        const messageId = scheme.messageIdOf(message);
        const verified = { kind: "verified", scheme: name, producer, messageId, timestampSeconds } as const;
        const [signed] = claim.contents;
        const isIdSigned = messageId !== null && !scheme.isMessageIdUnsigned;
        // Without a signed timestamp, two different messages may have identical bytes.
        if (isIdSigned || timestampSeconds === null || signed === undefined) return verified;
        return andThen(replayIdOf(crypto, signed), (replayId) => ({ ...verified, replayId }));
      });
    },
  };
}

export function hmacProof(
  crypto: ReceiverCrypto,
  hash: "sha1" | "sha256" | "sha512",
  keys: readonly Uint8Array[],
): Proof {
  return ({ contents, signatures }) => {
    const macs = contents.flatMap((data) => keys.map((key) => crypto.hmac(hash, key, data)));
    return andThen(whenAll(macs), (expected) =>
      signatures.some((signature) => expected.some((mac) => crypto.equal(mac, signature))),
    );
  };
}

export function publicKeyProof(verify: ReceiverCrypto["verifyEd25519"], keys: readonly Uint8Array[]): Proof {
  return ({ contents, signatures }) => {
    const checks = contents.flatMap((data) =>
      signatures.flatMap((signature) => keys.map((publicKey) => verify(publicKey, signature, data))),
    );
    return andThen(whenAll(checks), (results) => results.includes(true));
  };
}
