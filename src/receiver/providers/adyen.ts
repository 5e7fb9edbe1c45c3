/**
 * Adyen's standard webhooks: `additionalData.hmacSignature` of the single item, HMAC-SHA256 in base64 over eight of its
 * fields, joined with colons. The item's other fields are not signed, and no time is signed.
 */
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import type { MessageVerifier, ReceivedMessage } from "../message/message.ts";
import { type Claim, createClaimVerifier, hmacProof } from "./claim-verifier.ts";
import { keyTexts, type SecretOptions } from "./options.ts";
import { hexKey } from "./provider-keys.ts";
import {
  base64Bytes,
  isRejected,
  type JsonObject,
  messageIdFrom,
  objectOf,
  rejected,
  type Rejected,
  unprovenBody,
  utf8,
} from "./reading.ts";

/** `secrets` are HMAC keys in hexadecimal, as the Customer Area shows them. */
export type AdyenOptions = SecretOptions;

const signatureBytes = 32;
const fieldLengthMax = 1_024;

/**
 * Message id: `{pspReference}:{eventCode}:{success}`, by which Adyen identifies repeated messages; all three are
 * signed.
 */
export function createAdyenVerifier(crypto: ReceiverCrypto, options: AdyenOptions): MessageVerifier {
  return createClaimVerifier(crypto, {
    name: "adyen",
    producer: options.producer ?? "adyen",
    proof: hmacProof(crypto, "sha256", keyTexts(options.secrets, "secrets").map(hexKey)),
    claimOf,
    isMessageIdUnsigned: false,
    messageIdOf(message) {
      const item = itemOf(message);
      if (isRejected(item)) return null;
      return messageIdFrom([item["pspReference"], item["eventCode"], item["success"]].map(textOf).join(":"));
    },
  });
}

function claimOf(message: ReceivedMessage): Claim | Rejected {
  const item = itemOf(message);
  if (isRejected(item)) return item;
  const signature = base64Bytes(textOf(objectOf(item["additionalData"])?.["hmacSignature"]), signatureBytes);
  if (signature === null) return rejected("body_altered", "hmacSignature is not 32 bytes in base64");
  const amount = objectOf(item["amount"]);
  const signed = [
    item["pspReference"],
    item["originalReference"],
    item["merchantAccountCode"],
    item["merchantReference"],
    amount?.["value"],
    amount?.["currency"],
    item["eventCode"],
    item["success"],
  ].map(textOf);
  if (signed.some((text) => text.length > fieldLengthMax))
    return rejected("body_altered", "a signed field is too long");
  return { contents: [[utf8(signed.join(":"))]], signatures: [signature], timestampSeconds: null };
}

function itemOf(message: ReceivedMessage): JsonObject | Rejected {
  const body = unprovenBody(message);
  if (isRejected(body)) return body;
  const items: unknown = body["notificationItems"];
  // Adyen sends one item in JSON. With several, one signature would only cover one of them.
  const item = Array.isArray(items) && items.length === 1 ? objectOf(items[0]) : null;
  const request = objectOf(item?.["NotificationRequestItem"]);
  return request ?? rejected("body_altered", "the body does not have exactly one NotificationRequestItem");
}

/** Empty for missing values and for values that are not plain text. */
function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : "";
}
