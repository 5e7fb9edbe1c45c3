/** SendGrid Event Webhook: ECDSA P-256 with SHA-256, DER in base64, over `{timestamp}{body}`. */
import type { ReceiverCrypto } from "../crypto.ts";
import type { MessageVerifier } from "../message.ts";
import { base64Bytes } from "./bytes.ts";
import { keyTexts, misconfigured, toleranceOf } from "./options.ts";
import type { PublicKeyOptions, ToleranceOptions } from "./options.ts";
import { createPublicKeyVerifier } from "./public-key-verifier.ts";

/** Public keys are base64 (SPKI), as the settings page shows them. */
export interface SendgridOptions extends PublicKeyOptions, ToleranceOptions {}

/** An uncompressed P-256 point in its SPKI frame, which always begins alike (RFC 5480). */
const keyBytes = 91;
const keyStart = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE";
/** Two integers of up to 33 bytes each, and their frame. */
const signatureBytesMax = 72;

/** Message id: none; one message holds many events, each with its `sg_event_id`. */
export function createSendgridVerifier(crypto: ReceiverCrypto, options: SendgridOptions): MessageVerifier {
  return createPublicKeyVerifier(crypto, {
    name: "sendgrid",
    producer: options.producer ?? "sendgrid",
    keys: keyTexts(options.publicKeys, "publicKeys").map(keyOf),
    toleranceSeconds: toleranceOf(options),
    signatureHeader: "X-Twilio-Email-Event-Webhook-Signature",
    timestampHeader: "X-Twilio-Email-Event-Webhook-Timestamp",
    form: "a signature in base64",
    decode: (header) => base64Bytes(header, { lengthMax: signatureBytesMax }),
    isSigned: (claim) => crypto.verifyEcdsaP256(claim),
    messageIdOf: () => null,
  });
}

function keyOf(text: string): Uint8Array {
  const key = text.startsWith(keyStart) ? base64Bytes(text, { lengthMax: keyBytes }) : null;
  if (key?.length !== keyBytes)
    throw misconfigured("a SendGrid public key is base64 that begins with MFkwEwYH");
  return key;
}
