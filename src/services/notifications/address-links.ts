import { timingSafeEqual } from "node:crypto";
import type { SecretBox } from "../../ports/secret-box.ts";

/**
 * Links by which the reader of an address confirms it, unsubscribes or resubscribes. They are signed, contain only the
 * address id, and occur only in mails to that address. The same token serves all three.
 */
export class AddressLinks {
  readonly #secretBox: Pick<SecretBox, "digest">;
  readonly #publicUrl: () => string | null;

  constructor(secretBox: Pick<SecretBox, "digest">, publicUrl: () => string | null) {
    this.#secretBox = secretBox;
    this.#publicUrl = publicUrl;
  }

  /** False if readers cannot reach this system, so that no address can be confirmed. */
  get areReachable(): boolean {
    return this.#publicUrl() !== null;
  }

  /** Null if this system cannot be reached from outside. */
  urlFor(addressId: string, purpose: "confirm" | "unsubscribe"): string | null {
    const publicUrl = this.#publicUrl();
    if (publicUrl === null) return null;
    return `${publicUrl.replace(/\/$/, "")}/notifications/${purpose}/${this.tokenOf(addressId)}`;
  }

  tokenOf(addressId: string): string {
    return `${addressId}.${this.#signatureOf(addressId)}`;
  }

  /** The address id of a token; null if the token is invalid. */
  addressOf(token: string): string | null {
    const [addressId = "", signature = ""] = token.split(".");
    const expected = Buffer.from(this.#signatureOf(addressId));
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected) ? addressId : null;
  }

  #signatureOf(addressId: string): string {
    return Buffer.from(this.#secretBox.digest(`mail address ${addressId}`)).toString("base64url");
  }
}
