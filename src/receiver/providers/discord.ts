/** Discord: `X-Signature-Ed25519` in hex over `{X-Signature-Timestamp}{body}`, for interactions and webhook events. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier } from "../message.ts";
import { hexBytes } from "./bytes.ts";
import { keyTexts, misconfigured, toleranceOf } from "./options.ts";
import type { PublicKeyOptions, ToleranceOptions } from "./options.ts";
import { createPublicKeyVerifier } from "./public-key-verifier.ts";
import { fieldOf, messageIdFrom } from "./reading.ts";

/** Public keys are 64 hexadecimal digits, as in the developer portal. */
export interface DiscordOptions extends PublicKeyOptions, ToleranceOptions {}

const keyBytes = 32;
const signatureBytes = 64;

/** Message id: `id` of an interaction; webhook events have none. */
export function createDiscordVerifier(crypto: ReceiverCrypto, options: DiscordOptions): MessageVerifier {
  return createPublicKeyVerifier(crypto, {
    name: "discord",
    producer: options.producer ?? "discord",
    keys: keyTexts(options.publicKeys, "publicKeys").map(keyOf),
    toleranceSeconds: toleranceOf(options),
    signatureHeader: "X-Signature-Ed25519",
    timestampHeader: "X-Signature-Timestamp",
    form: "128 hexadecimal digits",
    decode: (header) => hexBytes(header, { length: signatureBytes }),
    isSigned: (claim) => crypto.verifyEd25519(claim),
    messageIdOf: ({ body }) => messageIdFrom(fieldOf(body, "id")),
  });
}

function keyOf(text: string): Uint8Array {
  const key = hexBytes(text, { length: keyBytes });
  if (key === null) throw misconfigured("a Discord public key is 64 hexadecimal digits");
  return key;
}

/**
 * What to answer when Discord checks the address, else null: an interaction of type 1 wants `{"type":1}`, a webhook
 * event of type 0 wants an empty 204. Give it the body of a verified message only.
 */
export function discordPing(body: Uint8Array): { readonly status: 200 | 204; readonly json: string } | null {
  const type = fieldOf(body, "type");
  if (type === 0) return { status: 204, json: "" };
  return type === 1 && fieldOf(body, "event") === undefined ? { status: 200, json: '{"type":1}' } : null;
}
