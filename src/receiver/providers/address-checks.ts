/**
 * Challenges with which providers check an address. Only for bodies of verified messages, because all of these parse
 * the body.
 */
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import { andThen, type MaybePromise } from "../crypto/maybe-promise.ts";
import { hexOf, utf8 } from "./bytes.ts";
import { misconfigured, secretBytes } from "./options.ts";
import { fieldOf } from "./reading.ts";

const challengeLengthMax = 1_024;
const plainTokenLengthMax = 1_024;

/**
 * The response when Discord checks the address, otherwise null: an interaction of type 1 expects `{"type":1}`, a
 * webhook event of type 0 an empty 204. Only pass the body of a verified message.
 */
export function discordPing(body: Uint8Array): { readonly status: 200 | 204; readonly json: string } | null {
  const type = fieldOf(body, "type");
  if (type === 0) return { status: 204, json: "" };
  return type === 1 && fieldOf(body, "event") === undefined ? { status: 200, json: '{"type":1}' } : null;
}

/**
 * The text to return (status 200, `text/plain`) when Slack checks the address of an app, otherwise null. Only pass the
 * body of a verified message.
 */
export function slackChallenge(body: Uint8Array): string | null {
  if (fieldOf(body, "type") !== "url_verification") return null;
  const challenge = fieldOf(body, "challenge");
  return typeof challenge === "string" && challenge.length <= challengeLengthMax ? challenge : null;
}

/**
 * The JSON to return (status 200, `application/json`) when Zoom validates the address, otherwise null. `secret` is the
 * one that Zoom currently uses. Only pass the body of a verified message, because the function hashes its input.
 */
export function zoomUrlValidation(
  crypto: ReceiverCrypto,
  secret: string,
  body: Uint8Array,
): MaybePromise<string | null> {
  const [key] = secretBytes(secret);
  if (key === undefined) throw misconfigured("a secret is required");
  if (fieldOf(body, "event") !== "endpoint.url_validation") return null;
  const payload = fieldOf(body, "payload");
  const plainToken =
    typeof payload === "object" && payload !== null && "plainToken" in payload ? payload.plainToken : null;
  if (typeof plainToken !== "string" || plainToken.length > plainTokenLengthMax) return null;
  return andThen(crypto.hmac({ hash: "sha256", key, data: [utf8(plainToken)] }), (mac) =>
    JSON.stringify({ plainToken, encryptedToken: hexOf(mac) }),
  );
}
