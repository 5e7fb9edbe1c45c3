/**
 * Validates the options of a provider once. Mistakes here are bugs of the application and throw at startup; after that,
 * nothing throws for input from an attacker. Messages never contain any part of a key.
 */
import { ReceiverError } from "../receiver-error.ts";
import { utf8 } from "./bytes.ts";

interface NamedOptions {
  /** The sender with these keys; becomes `producer` of a verified message. Defaults to the provider's name. */
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

/** For providers that sign a time. */
export interface ToleranceOptions {
  /**
   * Accepted difference to the signed time in either direction, in seconds; default 300. The limit itself is accepted.
   */
  readonly toleranceSeconds?: number | undefined;
}

/** For providers that sign the address. */
export interface PublicUrlOptions {
  /** The address as entered at the provider, with scheme and host, which a request behind a proxy does not contain. */
  readonly publicUrl: string;
}

/** For providers whose message id is in a header that they do not sign. */
export interface UnsignedIdOptions {
  /**
   * True uses that header as message id anyway. It identifies the provider's own repeats, but an attacker who replays a
   * captured message can change it. Default false: the message id is null.
   */
  readonly unsignedMessageId?: boolean | undefined;
}

const keysMax = 16;
const keyLengthMax = 1_024;
const publicUrlLengthMax = 2_048;
const toleranceSecondsDefault = 300;

/**
 * The keys as strings: at least one, none empty, none with the blank or line break that copying may add. `option` is
 * the name of the application's option.
 */
export function keyTexts(given: unknown, option: string): readonly string[] {
  const texts: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (texts.length === 0) throw misconfigured(`${option}: at least one key is needed`);
  if (texts.length > keysMax) throw misconfigured(`${option}: no more than ${keysMax} keys can be given`);
  return texts.map((text) => {
    if (typeof text !== "string" || text === "")
      throw misconfigured(`${option} is not set, or not a string; is the environment variable set?`);
    if (text.trim() !== text) throw misconfigured(`${option}: a key has blanks before or after it`);
    if (text.length > keyLengthMax)
      throw misconfigured(`${option}: a key must not exceed ${keyLengthMax} characters`);
    return text;
  });
}

/** The secrets as bytes, for providers whose key is the text itself. */
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

/** The error for a key, address or tolerance that cannot work, thrown while a verifier is created. */
export function misconfigured(detail: string): ReceiverError {
  return new ReceiverError("misconfigured", detail);
}
