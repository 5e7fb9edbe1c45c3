/** Stripe: `Stripe-Signature: t=…,v1=…`, HMAC-SHA256 in hex over `{t}.{body}`; the key is the whole `whsec_…` text. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier } from "../message.ts";
import { hexBytes, utf8 } from "./bytes.ts";
import { createHmacVerifier } from "./hmac-verifier.ts";
import { secretBytes, toleranceOf } from "./options.ts";
import type { SecretOptions, ToleranceOptions } from "./options.ts";
import { fieldOf, headerOf, isRejected, messageIdFrom, rejected, timestampOf, valuesIn } from "./reading.ts";

export interface StripeOptions extends SecretOptions, ToleranceOptions {}

const signatureBytes = 32;

/** Message id: `id` of the signed event. */
export function createStripeVerifier(crypto: ReceiverCrypto, options: StripeOptions): MessageVerifier {
  const toleranceSeconds = toleranceOf(options);
  return createHmacVerifier(crypto, {
    name: "stripe",
    producer: options.producer ?? "stripe",
    hash: "sha256",
    keys: secretBytes(options.secrets),
    claimOf(message, { nowSeconds }) {
      const header = headerOf(message, "Stripe-Signature");
      if (isRejected(header)) return header;
      const [time, ...otherTimes] = valuesIn(header, { separator: ",", name: "t" });
      if (time === undefined || otherTimes.length > 0)
        return rejected("malformed_header", "Stripe-Signature needs one t");
      const timestampSeconds = timestampOf(time, { nowSeconds, toleranceSeconds });
      if (isRejected(timestampSeconds)) return timestampSeconds;
      const signatures = valuesIn(header, { separator: ",", name: "v1" }).flatMap(
        (text) => hexBytes(text, { length: signatureBytes }) ?? [],
      );
      if (signatures.length === 0)
        return rejected("malformed_header", "Stripe-Signature has no v1 signature of 64 hexadecimal digits");
      return { contents: [[utf8(`${time}.`), message.body]], signatures, timestampSeconds };
    },
    messageIdOf: ({ body }) => messageIdFrom(fieldOf(body, "id")),
  });
}
