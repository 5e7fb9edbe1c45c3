/** Linear: `Linear-Signature`, HMAC-SHA256 in hex over the body; the signed time is `webhookTimestamp` in the body. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier } from "../message.ts";
import { createBodyVerifier } from "./body-signature.ts";
import { hexBytes } from "./bytes.ts";
import { toleranceOf } from "./options.ts";
import type { SecretOptions, ToleranceOptions, UnsignedIdOptions } from "./options.ts";
import { ageProblem, fieldOf, rejected } from "./reading.ts";

/** Linear's documentation suggests 60 seconds; the default here is 300, as for every provider. */
export interface LinearOptions extends SecretOptions, ToleranceOptions, UnsignedIdOptions {}

const signatureBytes = 32;

/**
 * Message id: none is signed; `Linear-Delivery` with `unsignedMessageId`. The header `Linear-Timestamp` is not signed and
 * is ignored: the body is parsed for its own time, after the signature has proved it.
 */
export function createLinearVerifier(crypto: ReceiverCrypto, options: LinearOptions): MessageVerifier {
  const toleranceSeconds = toleranceOf(options);
  return createBodyVerifier(crypto, options, {
    name: "linear",
    header: "Linear-Signature",
    form: "64 hexadecimal digits",
    idHeader: "Linear-Delivery",
    decode: (header) => hexBytes(header, { length: signatureBytes }),
    bodyTimeOf({ body }, { nowSeconds }) {
      const milliseconds = fieldOf(body, "webhookTimestamp");
      if (typeof milliseconds !== "number" || !Number.isSafeInteger(milliseconds))
        return rejected("bad_timestamp", "the body has no webhookTimestamp in milliseconds");
      const timestampSeconds = Math.floor(milliseconds / 1_000);
      return ageProblem(timestampSeconds, { nowSeconds, toleranceSeconds }) ?? timestampSeconds;
    },
  });
}
