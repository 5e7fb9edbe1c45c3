import { andThen, type MaybePromise, type ReceiverCrypto } from "../crypto/crypto.ts";
import { misconfigured } from "../receiver-error.ts";
import { fieldOf, hexOf, utf8 } from "./reading.ts";

/**
 * Validates the options of a provider once. Invalid options are bugs in the application and throw at startup;
 * afterwards, input from an attacker never causes an exception. Messages never contain any part of a key.
 */

interface NamedOptions {
  /**
   * Name of the sender with these keys, which becomes the `producer` of a verified message. Defaults to the provider's
   * name.
   */
  readonly producer?: string | undefined;
}

/** One secret, or several during a rotation: a message signed with any of them is accepted. Up to 16. */
export interface SecretOptions extends NamedOptions {
  readonly secrets: string | readonly string[];
}

/** One public key, or several during a rotation. Up to 16. */
export interface PublicKeyOptions extends NamedOptions {
  readonly publicKeys: string | readonly string[];
}

/** For providers that sign a timestamp. */
export interface ToleranceOptions {
  /**
   * Maximum difference between the signed timestamp and now in either direction, in seconds, inclusive; defaults to
   * 300.
   */
  readonly toleranceSeconds?: number | undefined;
}

/** For providers that sign the URL. */
export interface PublicUrlOptions {
  /**
   * The URL as entered at the provider. It includes scheme and host, which a request behind a proxy does not contain.
   */
  readonly publicUrl: string;
}

/** For providers whose message id is in a header that they do not sign. */
export interface UnsignedIdOptions {
  /**
   * If true, that header is used as message id anyway. It identifies the provider's own repeats, but an attacker who
   * replays a captured message can change it. Defaults to false: the message id is null.
   */
  readonly unsignedMessageId?: boolean | undefined;
}

const keysMax = 16;
const keyLengthMax = 1_024;
const publicUrlLengthMax = 2_048;
const toleranceSecondsDefault = 300;

/**
 * The keys as strings: at least one, none empty, none with the space or line break that copying may add. `option` is
 * the name of the application's option.
 */
export function keyTexts(given: unknown, option: string): readonly string[] {
  const texts: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (texts.length === 0) throw misconfigured(`${option}: at least one key is needed`);
  if (texts.length > keysMax) throw misconfigured(`${option}: no more than ${keysMax} keys can be given`);
  return texts.map((text) => {
    if (typeof text !== "string" || text === "")
      throw misconfigured(`${option} is not set, or not a string; is the environment variable set?`);
    if (text.trim() !== text) throw misconfigured(`${option}: a key has white space before or after it`);
    if (text.length > keyLengthMax)
      throw misconfigured(`${option}: a key must not exceed ${keyLengthMax} characters`);
    return text;
  });
}

/** The secrets as bytes, for providers that use the secret's text as the key. */
export function secretBytes(given: unknown): readonly Uint8Array[] {
  return keyTexts(given, "secrets").map(utf8);
}

export function toleranceOf({ toleranceSeconds = toleranceSecondsDefault }: ToleranceOptions): number {
  if (typeof toleranceSeconds === "number" && toleranceSeconds >= 0) return toleranceSeconds;
  throw misconfigured("toleranceSeconds must be a number of seconds, 0 or more");
}

export function publicUrlOf({ publicUrl }: PublicUrlOptions): string {
  const isUsable =
    typeof publicUrl === "string" &&
    publicUrl.length <= publicUrlLengthMax &&
    /^https?:\/\/[^/?#\s]+[^#\s]*$/i.test(publicUrl);
  if (isUsable) return publicUrl;
  throw misconfigured("publicUrl must be the whole address, such as https://example.com/hooks");
}

// Challenges with which providers check a URL. Use them only for bodies of verified messages, because all of these
// functions parse the body.

const challengeLengthMax = 1_024;
const plainTokenLengthMax = 1_024;

/**
 * The response when Discord checks the URL, otherwise null: an interaction of type 1 expects `{"type":1}`, a webhook
 * event of type 0 an empty 204. Only pass the body of a verified message.
 */
export function discordPing(body: Uint8Array): { readonly status: 200 | 204; readonly json: string } | null {
  const type = fieldOf(body, "type");
  if (type === 0) return { status: 204, json: "" };
  return type === 1 && fieldOf(body, "event") === undefined ? { status: 200, json: '{"type":1}' } : null;
}

/**
 * The string to return (status 200, `text/plain`) when Slack checks the URL of an app, otherwise null. Only pass the
 * body of a verified message.
 */
export function slackChallenge(body: Uint8Array): string | null {
  if (fieldOf(body, "type") !== "url_verification") return null;
  const challenge = fieldOf(body, "challenge");
  return typeof challenge === "string" && challenge.length <= challengeLengthMax ? challenge : null;
}

/**
 * The JSON to return (status 200, `application/json`) when Zoom validates the URL, otherwise null. `secret` is the one
 * that Zoom currently uses. Only pass the body of a verified message, because the function hashes its input.
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
  return andThen(crypto.hmac("sha256", key, [utf8(plainToken)]), (mac) =>
    JSON.stringify({ plainToken, encryptedToken: hexOf(mac) }),
  );
}
