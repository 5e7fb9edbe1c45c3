import { timingSafeEqual } from "node:crypto";
import type { Webhook } from "../../../core/webhook.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Random } from "../../../ports/random.ts";
import type { SecretBox } from "../../../ports/secret-box.ts";

/** Twice what the document's "hard to guess" is commonly taken for: 256 bits. */
const keyBytes = 32;
const keyLifetimeMs = 7 * 86_400_000;

export interface CallbackKeysOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly secretBox: SecretBox;
  readonly publicUrl: string | null;
}

/** The key of a callback URL (CEW-4.1.3-5). Sent once, kept as a keyed digest, good for one use within seven days. */
export interface CallbackKey {
  readonly url: string;
  readonly digest: string;
  readonly expiresAt: number;
}

export class CallbackKeys {
  readonly #options: CallbackKeysOptions;

  constructor(options: CallbackKeysOptions) {
    this.#options = options;
  }

  /** Null where nobody could call back, because the server does not know its own address. */
  issue(webhookId: string): CallbackKey | null {
    const { clock, random, publicUrl } = this.#options;
    if (publicUrl === null) return null;
    const key = Buffer.from(random.bytes(keyBytes)).toString("base64url");
    return {
      url: `${publicUrl}/v1/webhooks/${webhookId}/verification-callback?key=${key}`,
      digest: this.#digest({ webhookId, key }),
      expiresAt: clock.now() + keyLifetimeMs,
    };
  }

  /** Whether a key is the one that a webhook waits for, now. */
  opens({ id, verification }: Pick<Webhook, "id" | "verification">, key: string): boolean {
    const { tokenDigest, tokenExpiresAt } = verification;
    const presented = Buffer.from(this.#digest({ webhookId: id, key }));
    // Compared also when there is nothing to compare with, so that the time tells nothing.
    const expected = Buffer.from(tokenDigest ?? this.#digest({ webhookId: id, key: "" }));
    const isEqual = presented.length === expected.length && timingSafeEqual(presented, expected);
    const isInTime = tokenExpiresAt !== null && this.#options.clock.now() < tokenExpiresAt;
    return isEqual && tokenDigest !== null && isInTime;
  }

  #digest({ webhookId, key }: { readonly webhookId: string; readonly key: string }): string {
    return this.#options.secretBox.digest(`verification callback ${webhookId} ${key}`);
  }
}
