/**
 * Mailgun: the body has a member `signature` with `timestamp`, `token` and the hexadecimal HMAC-SHA256 over the two,
 * concatenated. Nothing else is signed, so the event data are only as trustworthy as the connection. A token is used
 * once, so it is the message id. An event of a subaccount also has a `parent-signature` with the key of the main
 * account.
 */
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import type { MessageVerifier, ReceivedMessage } from "../message/message.ts";
import { type Claim, createClaimVerifier, hmacProof } from "./claim-verifier.ts";
import { secretBytes, type SecretOptions, toleranceOf, type ToleranceOptions } from "./options.ts";
import {
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

/** `secrets` are HTTP webhook signing keys. */
export interface MailgunOptions extends SecretOptions, ToleranceOptions {}

const signatureBytes = 32;

export function createMailgunVerifier(crypto: ReceiverCrypto, options: MailgunOptions): MessageVerifier {
  const toleranceSeconds = toleranceOf(options);
  return createClaimVerifier(crypto, {
    name: "mailgun",
    producer: options.producer ?? "mailgun",
    proof: hmacProof(crypto, "sha256", secretBytes(options.secrets)),
    claimOf: (message, { nowSeconds }) => claimOf(message, nowSeconds, toleranceSeconds),
    isMessageIdUnsigned: false,
    messageIdOf: ({ body }) => messageIdFrom(objectOf(fieldOf(body, "signature"))?.["token"]),
  });
}

function claimOf(message: ReceivedMessage, nowSeconds: number, toleranceSeconds: number): Claim | Rejected {
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
