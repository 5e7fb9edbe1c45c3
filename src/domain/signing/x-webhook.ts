/**
 * `X-Webhook-Signature: t=<unix seconds>,v1=<hex>[,v1=<hex>]` (WDS-153 to 155): HMAC-SHA256 over `{t}.{raw body}`.
 *
 * The document does not define the signed text, the key bytes or the encoding. Posthorn follows the widely used header
 * with this syntax: the key is the UTF-8 text of the whole secret as its owner sees it, including the prefix, and the
 * digest is lower-case hex. Any library that supports that header can verify our signatures.
 */
import { Buffer } from "node:buffer";
import { type Content, placeContent, prepareMac } from "./signed-content.ts";
import { requireUnixSeconds, UnsignableMessageError } from "./schemes.ts";

/**
 * Returns the value of `X-Webhook-Signature`. `timestampSeconds` is when this request is sent, in Unix seconds; receivers
 * accept it for five minutes (WDS-154). `body` is exactly what is sent. Throws {@link UnsignableMessageError}.
 */
export type XWebhookSigner = (timestampSeconds: number, body: Uint8Array) => string;

/**
 * Prepares a signer from a webhook's secrets, newest first: during a rotation there is one `v1` for each secret. Throws
 * {@link UnsignableMessageError} if the list of secrets is empty or contains an empty secret.
 */
export function prepareXWebhookSigner(secretTexts: readonly string[]): XWebhookSigner {
  if (secretTexts.length === 0 || secretTexts.includes("")) {
    throw new UnsignableMessageError("no_keys", "a signer needs a secret");
  }
  const macs = secretTexts.map((text) => prepareMac(Buffer.from(text, "utf8"), "hex"));
  return (timestampSeconds, body) => {
    requireUnixSeconds(timestampSeconds);
    const content = placeContent(`${timestampSeconds}.`, body);
    return `t=${timestampSeconds}${entries(macs, content)}`;
  };
}

function entries(macs: readonly ((content: Content) => string)[], content: Content): string {
  let text = "";
  for (const mac of macs) text += `,v1=${mac(content)}`;
  return text;
}
