/** `X-Webhook-Signature: t=…,v1=…`: HMAC-SHA256 in hex over `{t}.{body}`. */
import { andThen, type MaybePromise, type ReceiverCrypto } from "../crypto/crypto.ts";
import type { MessageVerifier, Verification } from "../message/message.ts";
import { toleranceOf, type ToleranceOptions } from "../providers/options.ts";
import {
  entriesIn,
  fieldOf,
  headerOf,
  hexBytes,
  isRejected,
  messageIdFrom,
  rejected,
  replayIdOf,
  timestampOf,
  utf8,
} from "../providers/reading.ts";
import { type ByProducer, firstMatch, readByProducer } from "./first-match.ts";
import { readSecretText } from "./key-text.ts";

/** `toleranceSeconds` defaults to 300. */
export interface XWebhookOptions extends ToleranceOptions {
  /** Secrets as shown by the sender. The key is the text itself; `whsec_` may be omitted. */
  readonly secrets: ByProducer;
}

const signatureBytes = 32;
const header = "X-Webhook-Signature";

/**
 * Message id: `idempotency_key` of the signed event, null for other bodies. The header of that name is not signed.
 * Throws ReceiverError `misconfigured` for keys that are not shared secrets.
 */
export function prepareXWebhookVerifier(crypto: ReceiverCrypto, options: XWebhookOptions): MessageVerifier {
  const keys = readByProducer(options.secrets, "secrets", keysOf).flatMap(({ producer, value }) =>
    value.map((bytes) => ({ producer, bytes })),
  );
  const toleranceSeconds = toleranceOf(options);
  return {
    verify(message, { nowSeconds }) {
      const value = headerOf(message, header);
      if (isRejected(value)) return value;
      const [time, ...moreTimes] = entriesIn(value, ",", "t=");
      if (time === undefined || moreTimes.length > 0) {
        return rejected("malformed_header", `${header} must have exactly one t=`);
      }
      const timestampSeconds = timestampOf(time, nowSeconds, toleranceSeconds);
      if (isRejected(timestampSeconds)) return timestampSeconds;
      const signatures = entriesIn(value, ",", "v1=").flatMap((text) => hexBytes(text, signatureBytes) ?? []);
      if (signatures.length === 0)
        return rejected("malformed_header", `${header} has no v1= of 64 hex digits`);
      const data = [utf8(`${time}.`), message.body];
      const signer = firstMatch(keys, ({ bytes }) =>
        andThen(crypto.hmac("sha256", bytes, data), (expected) =>
          signatures.some((signature) => crypto.equal(signature, expected)),
        ),
      );
      return andThen(signer, (key): MaybePromise<Verification> => {
        if (key === null) {
          return rejected(
            "no_matching_signature",
            "no v1 matches a secret: a different secret was used, or the body was altered",
          );
        }
        const { producer } = key;
        const messageId = messageIdFrom(fieldOf(message.body, "idempotency_key"));
        const verified = { kind: "verified", scheme: "x-webhook-v1", producer, messageId } as const;
        if (messageId !== null) return { ...verified, timestampSeconds };
        return andThen(replayIdOf(crypto, data), (replayId) => ({ ...verified, timestampSeconds, replayId }));
      });
    },
  };
}

/** A string without the prefix may be a secret that was copied without it, or one that never had it. */
function keysOf(text: string): readonly Uint8Array[] {
  const secret = readSecretText(text);
  return secret.startsWith("whsec_") ? [utf8(secret)] : [utf8(secret), utf8(`whsec_${secret}`)];
}
