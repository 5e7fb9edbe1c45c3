/** Square: `x-square-hmacsha256-signature`, HMAC-SHA256 in base64 over the notification URL and the body. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier } from "../message.ts";
import { base64Bytes, utf8 } from "./bytes.ts";
import { createHmacVerifier } from "./hmac-verifier.ts";
import { publicUrlOf, secretBytes } from "./options.ts";
import type { PublicUrlOptions, SecretOptions } from "./options.ts";
import { fieldOf, headerOf, isRejected, messageIdFrom, rejected } from "./reading.ts";

/** `publicUrl` is the notification URL, letter by letter as it stands in Square's dashboard. */
export interface SquareOptions extends SecretOptions, PublicUrlOptions {}

const signatureHeader = "x-square-hmacsha256-signature";
const signatureBytes = 32;

/** Message id: `event_id` of the signed event. No time is signed. */
export function createSquareVerifier(crypto: ReceiverCrypto, options: SquareOptions): MessageVerifier {
  const address = utf8(publicUrlOf(options));
  return createHmacVerifier(crypto, {
    name: "square",
    producer: options.producer ?? "square",
    hash: "sha256",
    keys: secretBytes(options.secrets),
    claimOf(message) {
      const header = headerOf(message, signatureHeader);
      if (isRejected(header)) return header;
      const signature = base64Bytes(header, { lengthMax: signatureBytes });
      if (signature === null)
        return rejected("malformed_header", `${signatureHeader} is not 32 bytes in base64`);
      return { contents: [[address, message.body]], signatures: [signature], timestampSeconds: null };
    },
    messageIdOf: ({ body }) => messageIdFrom(fieldOf(body, "event_id")),
  });
}
