/**
 * Providers whose signature is a member of the JSON body.
 *
 * Adyen: `additionalData.hmacSignature` of the single item, HMAC-SHA256 in base64 over eight of its fields, joined with
 * colons. The item's other fields are not signed, and no time is signed.
 *
 * Mailgun: a member `signature` with `timestamp`, `token` and the hexadecimal HMAC-SHA256 over the two, concatenated.
 * Nothing else is signed, so the event data are only as trustworthy as the connection. A token is used once, so it is
 * the message id. An event of a subaccount also has a `parent-signature` with the key of the main account.
 */
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import type { MessageVerifier, ReceivedMessage } from "../message/message.ts";
import { type Claim, createClaimVerifier, hmacProof } from "./claim-verifier.ts";
import { keyTexts, secretBytes, type SecretOptions, toleranceOf, type ToleranceOptions } from "./options.ts";
import { hexKey } from "./provider-keys.ts";
import {
  base64Bytes,
  fieldOf,
  hexBytes,
  isRejected,
  type JsonObject,
  messageIdFrom,
  objectOf,
  rejected,
  type Rejected,
  timestampOf,
  unprovenBody,
  utf8,
} from "./reading.ts";

const signatureBytes = 32;
const fieldLengthMax = 1_024;

/** `secrets` are HMAC keys in hexadecimal, as the Customer Area shows them. */
export type AdyenOptions = SecretOptions;

/**
 * Message id: `{pspReference}:{eventCode}:{success}`, which identifies repeated messages at Adyen; all three parts are
 * signed.
 */
export function createAdyenVerifier(crypto: ReceiverCrypto, options: AdyenOptions): MessageVerifier {
  return createClaimVerifier(crypto, {
    name: "adyen",
    producer: options.producer ?? "adyen",
    proof: hmacProof(crypto, "sha256", keyTexts(options.secrets, "secrets").map(hexKey)),
    claimOf: adyenClaim,
    isMessageIdUnsigned: false,
    messageIdOf(message) {
      const item = itemOf(message);
      if (isRejected(item)) return null;
      return messageIdFrom([item["pspReference"], item["eventCode"], item["success"]].map(textOf).join(":"));
    },
  });
}

function adyenClaim(message: ReceivedMessage): Claim | Rejected {
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
  // Adyen sends one item as JSON. If there were several, one signature would cover only one of them.
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

/** `secrets` are HTTP webhook signing keys. */
export interface MailgunOptions extends SecretOptions, ToleranceOptions {}

export function createMailgunVerifier(crypto: ReceiverCrypto, options: MailgunOptions): MessageVerifier {
  const toleranceSeconds = toleranceOf(options);
  return createClaimVerifier(crypto, {
    name: "mailgun",
    producer: options.producer ?? "mailgun",
    proof: hmacProof(crypto, "sha256", secretBytes(options.secrets)),
    claimOf: (message, { nowSeconds }) => mailgunClaim(message, nowSeconds, toleranceSeconds),
    isMessageIdUnsigned: false,
    messageIdOf: ({ body }) => messageIdFrom(objectOf(fieldOf(body, "signature"))?.["token"]),
  });
}

function mailgunClaim(
  message: ReceivedMessage,
  nowSeconds: number,
  toleranceSeconds: number,
): Claim | Rejected {
  const body = unprovenBody(message);
  if (isRejected(body)) return body;
  const fields: JsonObject = objectOf(body["signature"]) ?? {};
  const { timestamp, token } = fields;
  const time = typeof timestamp === "number" ? String(timestamp) : timestamp;
  if (typeof time !== "string" || typeof token !== "string" || messageIdFrom(token) === null)
    return rejected("body_altered", "the body has no signature with timestamp and token");
  const timestampSeconds = timestampOf(time, nowSeconds, toleranceSeconds);
  if (isRejected(timestampSeconds)) return timestampSeconds;
  const signatures = [fields["signature"], fields["parent-signature"]].flatMap((text) =>
    typeof text === "string" ? (hexBytes(text, signatureBytes) ?? []) : [],
  );
  if (signatures.length === 0)
    return rejected("body_altered", `the signature is not ${2 * signatureBytes} hexadecimal digits`);
  return { contents: [[utf8(time + token)]], signatures, timestampSeconds };
}
