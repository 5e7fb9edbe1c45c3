import { timingSafeEqual } from "node:crypto";
import type { Webhook } from "../../../core/webhook.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Random } from "../../../ports/random.ts";
import type { SecretBox } from "../../../ports/secret-box.ts";

/** 256 bits: twice of what "hard to guess" in the specification is commonly taken to mean. */
const keyBytes = 32;
const keyLifetimeMs = 7 * 86_400_000;

export interface CallbackKeysOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly secretBox: SecretBox;
  readonly publicUrl: string | null;
}

/**
 * The key of a callback URL (CEW-4.1.3-5). Sent once, stored as a keyed digest, valid for one use within seven days.
 */
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

  /** Null if no callback is possible, because the server does not know its own address. */
  issue(webhookId: string): CallbackKey | null {
    const { clock, random, publicUrl } = this.#options;
    if (publicUrl === null) return null;
    const key = Buffer.from(random.bytes(keyBytes)).toString("base64url");
    return {
      url: `${publicUrl}/v1/webhooks/${webhookId}/verification-callback?key=${key}`,
      digest: this.#digest(webhookId, key),
      expiresAt: clock.now() + keyLifetimeMs,
    };
  }

  /** Whether a webhook currently accepts this key. */
  opens({ id, verification }: Pick<Webhook, "id" | "verification">, key: string): boolean {
    const { tokenDigest, tokenExpiresAt } = verification;
    const presented = Buffer.from(this.#digest(id, key));
    // Compares even without an expected value, so that timing reveals nothing.
    const expected = Buffer.from(tokenDigest ?? this.#digest(id, ""));
    const isEqual = presented.length === expected.length && timingSafeEqual(presented, expected);
    const isInTime = tokenExpiresAt !== null && this.#options.clock.now() < tokenExpiresAt;
    return isEqual && tokenDigest !== null && isInTime;
  }

  #digest(webhookId: string, key: string): string {
    return this.#options.secretBox.digest(`verification callback ${webhookId} ${key}`);
  }
}
