/** Shopify: `X-Shopify-Hmac-SHA256`, HMAC-SHA256 in base64 over the body, with the app's client secret. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier } from "../message.ts";
import { createBodyVerifier } from "./body-signature.ts";
import { base64Bytes } from "./bytes.ts";
import type { SecretOptions, UnsignedIdOptions } from "./options.ts";

export interface ShopifyOptions extends SecretOptions, UnsignedIdOptions {}

const signatureBytes = 32;

/** Message id: none is signed; `X-Shopify-Webhook-Id` with `unsignedMessageId`. */
export function createShopifyVerifier(crypto: ReceiverCrypto, options: ShopifyOptions): MessageVerifier {
  return createBodyVerifier(crypto, options, {
    name: "shopify",
    header: "X-Shopify-Hmac-SHA256",
    form: "32 bytes in base64",
    idHeader: "X-Shopify-Webhook-Id",
    decode: (header) => base64Bytes(header, { lengthMax: signatureBytes }),
  });
}
