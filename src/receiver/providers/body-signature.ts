/**
 * Providers that sign the body and nothing else, in one header: GitHub, Shopify, Linear. The message id, if wanted, comes
 * from a header that nobody signed.
 */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier, ReceivedMessage } from "../message.ts";
import { createHmacVerifier } from "./hmac-verifier.ts";
import type { HmacScheme } from "./hmac-verifier.ts";
import { secretBytes } from "./options.ts";
import type { SecretOptions, UnsignedIdOptions } from "./options.ts";
import { headerOf, isRejected, messageIdFrom, rejected } from "./reading.ts";

interface BodySignature {
  readonly name: string;
  readonly header: string;
  /** What the header has to look like, for the log of the receiver. */
  readonly form: string;
  /** Unsigned. */
  readonly idHeader: string;
  decode(header: string): Uint8Array | null;
  readonly bodyTimeOf?: NonNullable<HmacScheme["bodyTimeOf"]>;
}

export function createBodyVerifier(
  crypto: ReceiverCrypto,
  options: SecretOptions & UnsignedIdOptions,
  scheme: BodySignature,
): MessageVerifier {
  return createHmacVerifier(crypto, {
    name: scheme.name,
    producer: options.producer ?? scheme.name,
    hash: "sha256",
    keys: secretBytes(options.secrets),
    claimOf(message) {
      const header = headerOf(message, scheme.header);
      if (isRejected(header)) return header;
      const signature = scheme.decode(header);
      if (signature === null) return rejected("malformed_header", `${scheme.header} is not ${scheme.form}`);
      return { contents: [[message.body]], signatures: [signature], timestampSeconds: null };
    },
    isMessageIdUnsigned: true,
    messageIdOf: (message: ReceivedMessage) =>
      options.unsignedMessageId === true ? messageIdFrom(message.headers.get(scheme.idHeader)) : null,
    ...(scheme.bodyTimeOf === undefined ? {} : { bodyTimeOf: scheme.bodyTimeOf }),
  });
}
