/** GitHub: `X-Hub-Signature-256: sha256=…`, HMAC-SHA256 in hex over the body. No time is signed. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier } from "../message.ts";
import { createBodyVerifier } from "./body-signature.ts";
import { hexBytes } from "./bytes.ts";
import type { SecretOptions, UnsignedIdOptions } from "./options.ts";

export interface GithubOptions extends SecretOptions, UnsignedIdOptions {}

const prefix = "sha256=";
const signatureBytes = 32;

/** Message id: none is signed; `X-GitHub-Delivery` with `unsignedMessageId`. The old SHA-1 header is ignored. */
export function createGithubVerifier(crypto: ReceiverCrypto, options: GithubOptions): MessageVerifier {
  return createBodyVerifier(crypto, options, {
    name: "github",
    header: "X-Hub-Signature-256",
    form: "sha256= and 64 hexadecimal digits",
    idHeader: "X-GitHub-Delivery",
    decode: (header) =>
      header.startsWith(prefix) ? hexBytes(header.slice(prefix.length), { length: signatureBytes }) : null,
  });
}
