/**
 * What the person who sets up a provider gives, checked once. A mistake here is the program's own and throws at the
 * start; nothing after this throws for what an attacker sends. No message ever holds any part of a key.
 */
import { ReceiverError } from "../receiver-error.ts";
import { utf8 } from "./bytes.ts";

interface NamedOptions {
  /** Who sends under these keys; becomes `producer` of a verified message. Default: the provider's name. */
  readonly producer?: string | undefined;
}

/** One secret, or several during a rotation: a message signed with any of them is accepted. At most 16. */
export interface SecretOptions extends NamedOptions {
  readonly secrets: string | readonly string[];
}

/** One public key, or several during a rotation. At most 16. */
export interface PublicKeyOptions extends NamedOptions {
  readonly publicKeys: string | readonly string[];
}

/** For providers that sign a time. */
export interface ToleranceOptions {
  /** Accepted difference to the signed time in either direction, seconds; default 300, and the bound is accepted. */
  readonly toleranceSeconds?: number | undefined;
}

/** For providers that sign the address. */
export interface PublicUrlOptions {
  /** The address as entered at the provider, with scheme and host: behind a proxy a request does not know it. */
  readonly publicUrl: string;
}

/** For providers whose message id is in a header that they do not sign. */
export interface UnsignedIdOptions {
  /**
   * True takes that header as message id all the same. It recognises the provider's own repeats; whoever replays a
   * stolen message can change it. Default false: the message id is null.
   */
  readonly unsignedMessageId?: boolean | undefined;
}

const keysMax = 16;
const keyLengthMax = 1_024;
const publicUrlLengthMax = 2_048;
const toleranceSecondsDefault = 300;

/**
 * The keys as texts: at least one, none empty, none with the blank or line break that copying leaves behind. `option` is
 * the name that the application wrote, or should have written.
 */
export function keyTexts(given: unknown, option: string): readonly string[] {
  const texts: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (texts.length === 0) throw misconfigured(`${option}: at least one key is needed`);
  if (texts.length > keysMax) throw misconfigured(`${option}: at most ${keysMax} keys can be given`);
  return texts.map((text) => {
    if (typeof text !== "string" || text === "")
      throw misconfigured(`${option} is not set, or not a text; is the environment variable set?`);
    if (text.trim() !== text) throw misconfigured(`${option}: a key has blanks around it`);
    if (text.length > keyLengthMax)
      throw misconfigured(`${option}: a key has at most ${keyLengthMax} characters`);
    return text;
  });
}

/** The secrets as bytes, for providers that use the text itself as the key. */
export function secretBytes(given: unknown): readonly Uint8Array[] {
  return keyTexts(given, "secrets").map(utf8);
}

export function toleranceOf({ toleranceSeconds = toleranceSecondsDefault }: ToleranceOptions): number {
  if (typeof toleranceSeconds === "number" && toleranceSeconds >= 0) return toleranceSeconds;
  throw misconfigured("toleranceSeconds is a number of seconds, 0 or more");
}

export function publicUrlOf({ publicUrl }: PublicUrlOptions): string {
  const isUsable =
    typeof publicUrl === "string" &&
    publicUrl.length <= publicUrlLengthMax &&
    /^https?:\/\/[^/?#\s]+[^#\s]*$/i.test(publicUrl);
  if (isUsable) return publicUrl;
  throw misconfigured("publicUrl is the whole address, such as https://example.com/hooks");
}

/** Thrown while a verifier is made: a key, address or tolerance that cannot work. */
export function misconfigured(detail: string): ReceiverError {
  return new ReceiverError("misconfigured", detail);
}
