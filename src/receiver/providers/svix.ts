/** Svix: `svix-signature: v1,…` in base64, HMAC-SHA256 over `{svix-id}.{svix-timestamp}.{body}`. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier } from "../message.ts";
import { base64Bytes, utf8 } from "./bytes.ts";
import { createHmacVerifier } from "./hmac-verifier.ts";
import { keyTexts, misconfigured, toleranceOf } from "./options.ts";
import type { SecretOptions, ToleranceOptions } from "./options.ts";
import { headerOf, isRejected, messageIdFrom, rejected, timestampOf } from "./reading.ts";

/** Secrets are `whsec_` and base64, or the base64 alone, as Svix's libraries take them. */
export interface SvixOptions extends SecretOptions, ToleranceOptions {}

const prefix = "whsec_";
const keyBytesMax = 256;
const signatureBytes = 32;
const entriesMax = 32;

/** Message id: `svix-id`, which is signed. */
export function createSvixVerifier(crypto: ReceiverCrypto, options: SvixOptions): MessageVerifier {
  const toleranceSeconds = toleranceOf(options);
  return createHmacVerifier(crypto, {
    name: "svix",
    producer: options.producer ?? "svix",
    hash: "sha256",
    keys: keyTexts(options.secrets, "secrets").map(keyOf),
    claimOf(message, { nowSeconds }) {
      const id = headerOf(message, "svix-id");
      if (isRejected(id)) return id;
      const time = headerOf(message, "svix-timestamp");
      if (isRejected(time)) return time;
      const header = headerOf(message, "svix-signature");
      if (isRejected(header)) return header;
      // With a period in the id, bytes could move from the body into the id under one and the same signature.
      if (messageIdFrom(id) === null || id.includes("."))
        return rejected("bad_message_id", "svix-id has a period or other illegal characters");
      const timestampSeconds = timestampOf(time, { nowSeconds, toleranceSeconds });
      if (isRejected(timestampSeconds)) return timestampSeconds;
      const signatures = header
        .split(" ", entriesMax)
        .filter((entry) => entry.startsWith("v1,"))
        .flatMap((entry) => base64Bytes(entry.slice("v1,".length), { lengthMax: signatureBytes }) ?? []);
      if (signatures.length === 0)
        return rejected("malformed_header", "svix-signature has no v1 signature of 32 bytes in base64");
      return { contents: [[utf8(`${id}.${time}.`), message.body]], signatures, timestampSeconds };
    },
    messageIdOf: (message) => messageIdFrom(message.headers.get("svix-id")?.trim()),
  });
}

function keyOf(text: string): Uint8Array {
  const encoded = text.startsWith(prefix) ? text.slice(prefix.length) : text;
  const key = base64Bytes(encoded, { lengthMax: keyBytesMax });
  if (key === null) throw misconfigured("a Svix secret is whsec_ and padded base64");
  return key;
}
