/** The common half of the providers that sign `{timestamp}{body}` with a private key: Discord and SendGrid. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier, ReceivedMessage, Verification } from "../message.ts";
import { utf8 } from "./bytes.ts";
import { andThen, whenAll } from "./maybe-promise.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import { headerOf, isRejected, rejected, timestampOf } from "./reading.ts";
import { replayIdOf } from "./replay-id.ts";

interface PublicKeyScheme {
  readonly name: string;
  readonly producer: string;
  readonly keys: readonly Uint8Array[];
  readonly toleranceSeconds: number;
  readonly signatureHeader: string;
  readonly timestampHeader: string;
  /** What the signature has to look like, for the log of the receiver. */
  readonly form: string;
  decode(header: string): Uint8Array | null;
  isSigned(claim: {
    readonly publicKey: Uint8Array;
    readonly signature: Uint8Array;
    readonly data: readonly Uint8Array[];
  }): MaybePromise<boolean>;
  /** Runs on authentic bytes alone. */
  messageIdOf(message: ReceivedMessage): string | null;
}

export function createPublicKeyVerifier(crypto: ReceiverCrypto, scheme: PublicKeyScheme): MessageVerifier {
  const { name, producer, toleranceSeconds, keys } = scheme;
  return {
    verify(message, { nowSeconds }) {
      const header = headerOf(message, scheme.signatureHeader);
      if (isRejected(header)) return header;
      const time = headerOf(message, scheme.timestampHeader);
      if (isRejected(time)) return time;
      const timestampSeconds = timestampOf(time, { nowSeconds, toleranceSeconds });
      if (isRejected(timestampSeconds)) return timestampSeconds;
      const signature = scheme.decode(header);
      if (signature === null)
        return rejected("malformed_header", `${scheme.signatureHeader} is not ${scheme.form}`);
      const data = [utf8(time), message.body];
      const checks = keys.map((publicKey) => scheme.isSigned({ publicKey, signature, data }));
      return andThen(whenAll(checks), (results): MaybePromise<Verification> => {
        if (!results.includes(true)) return rejected("no_matching_signature", "no key fits the signature");
        const messageId = scheme.messageIdOf(message);
        const verified = { kind: "verified", scheme: name, producer, messageId, timestampSeconds } as const;
        if (messageId !== null) return verified;
        return andThen(replayIdOf(crypto, data), (replayId) => ({ ...verified, replayId }));
      });
    },
  };
}
