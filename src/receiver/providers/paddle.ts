/** Paddle Billing: `Paddle-Signature: ts=…;h1=…`, HMAC-SHA256 in hex over `{ts}:{body}`; several `h1` in a rotation. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier } from "../message.ts";
import { hexBytes, utf8 } from "./bytes.ts";
import { createHmacVerifier } from "./hmac-verifier.ts";
import { secretBytes, toleranceOf } from "./options.ts";
import type { SecretOptions, ToleranceOptions } from "./options.ts";
import { fieldOf, headerOf, isRejected, messageIdFrom, rejected, timestampOf, valuesIn } from "./reading.ts";

/** Paddle's own SDK tolerates 5 seconds; the default here is 300, as for every provider. */
export interface PaddleOptions extends SecretOptions, ToleranceOptions {}

const signatureBytes = 32;

/** Message id: `event_id` of the signed event; a repeat and a replay of one event have the same. */
export function createPaddleVerifier(crypto: ReceiverCrypto, options: PaddleOptions): MessageVerifier {
  const toleranceSeconds = toleranceOf(options);
  return createHmacVerifier(crypto, {
    name: "paddle",
    producer: options.producer ?? "paddle",
    hash: "sha256",
    keys: secretBytes(options.secrets),
    claimOf(message, { nowSeconds }) {
      const header = headerOf(message, "Paddle-Signature");
      if (isRejected(header)) return header;
      const [time, ...otherTimes] = valuesIn(header, { separator: ";", name: "ts" });
      if (time === undefined || otherTimes.length > 0)
        return rejected("malformed_header", "Paddle-Signature needs one ts");
      const timestampSeconds = timestampOf(time, { nowSeconds, toleranceSeconds });
      if (isRejected(timestampSeconds)) return timestampSeconds;
      const signatures = valuesIn(header, { separator: ";", name: "h1" }).flatMap(
        (text) => hexBytes(text, { length: signatureBytes }) ?? [],
      );
      if (signatures.length === 0)
        return rejected("malformed_header", "Paddle-Signature has no h1 signature of 64 hexadecimal digits");
      return { contents: [[utf8(`${time}:`), message.body]], signatures, timestampSeconds };
    },
    messageIdOf: ({ body }) => messageIdFrom(fieldOf(body, "event_id")),
  });
}
