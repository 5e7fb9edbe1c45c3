import type { Clock } from "../../../ports/clock.ts";

interface StoredSession {
  readonly session: Buffer;
  readonly storedAtMs: number;
}

/** Some 2 kB each. */
const sessionsMax = 4096;
/** A resumed handshake does not check the certificate again, so a revoked one is trusted no longer than this. */
const sessionMsMax = 60 * 60_000;

/**
 * TLS sessions to resume, by receiver and presented identity: a resumed handshake costs both sides a third less.
 * undici's connector keeps sessions weakly, so one that is used once a minute would be garbage collected.
 */
export class TlsSessions {
  readonly #clock: Clock;
  /** Most recently stored last. */
  readonly #stored = new Map<string, StoredSession>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(key: string): Buffer | null {
    const stored = this.#stored.get(key);
    if (stored === undefined) return null;
    if (this.#clock.monotonicMs() - stored.storedAtMs < sessionMsMax) return stored.session;
    this.#stored.delete(key);
    return null;
  }

  set(key: string, session: Buffer): void {
    this.#stored.delete(key);
    this.#stored.set(key, { session, storedAtMs: this.#clock.monotonicMs() });
    const oldest = this.#stored.keys().next();
    if (this.#stored.size > sessionsMax && oldest.done !== true) this.#stored.delete(oldest.value);
  }
}
