import { timingSafeEqual } from "node:crypto";
import type { SecretBox } from "../../ports/secret-box.ts";

/** Links that end the messages to one address, for whoever has one of them: they are signed and say nothing else. */
export class UnsubscribeLinks {
  readonly #secretBox: Pick<SecretBox, "digest">;
  readonly #publicUrl: string | null;

  constructor(options: { readonly secretBox: Pick<SecretBox, "digest">; readonly publicUrl: string | null }) {
    this.#secretBox = options.secretBox;
    this.#publicUrl = options.publicUrl;
  }

  /** Null where nobody outside can reach this system. */
  urlFor(channelId: string): string | null {
    if (this.#publicUrl === null) return null;
    return `${this.#publicUrl.replace(/\/$/, "")}/notifications/unsubscribe/${this.tokenOf(channelId)}`;
  }

  tokenOf(channelId: string): string {
    return `${channelId}.${this.#signatureOf(channelId)}`;
  }

  /** The channel that a token is for; null for one that is not ours. */
  channelOf(token: string): string | null {
    const [channelId = "", signature = ""] = token.split(".");
    const expected = Buffer.from(this.#signatureOf(channelId));
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected) ? channelId : null;
  }

  #signatureOf(channelId: string): string {
    return Buffer.from(this.#secretBox.digest(`unsubscribe ${channelId}`)).toString("base64url");
  }
}
