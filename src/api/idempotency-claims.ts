import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import { StoreUnavailableError } from "../ports/store.ts";
import type { ClaimedKey, IdempotencyState, IdempotencyStore } from "../ports/store/idempotency.ts";
import type { Logger } from "../ports/telemetry.ts";
import { Loop } from "../ports/timing/loop.ts";

/** How long a completed response is kept. Published in /docs/idempotency (IDK-7, IDK-13). */
export const answerKeptMs = 24 * 3_600_000;
/**
 * A claim is renewed while its call runs. Without renewal for this long, its process is considered dead and the key is
 * free.
 */
export const claimKeptMs = 10_000;
const renewMs = 3_000;
/** Retry interval for writes that failed. */
const settleMs = 500;
/** Beyond this number the oldest are left to expire: many calls may run into one outage. */
const unsettledMax = 10_000;

/** Outcome of a call: its response, or null if it had no effect. */
type End = { readonly status: number; readonly body: string } | null;

/** An outcome not yet stored. */
interface Unsettled {
  readonly claim: ClaimedKey;
  readonly end: End;
}

/**
 * The claims of this process's calls. A claim is renewed while its call runs, and its outcome is written to the store
 * until that succeeds. A key is thus blocked exactly as long as a call is running, and neither an outage nor a crash
 * leaves it blocked.
 */
export class IdempotencyClaims {
  readonly #store: IdempotencyStore;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #process: string;
  #calls = 0;
  /** Start time by claim. */
  readonly #running = new Map<ClaimedKey, number>();
  readonly #unsettled = new Set<Unsettled>();
  #settling: Promise<void> | null = null;
  readonly #loop: Loop;

  constructor(parts: {
    readonly store: IdempotencyStore;
    readonly clock: Clock;
    readonly random: Pick<Random, "bytes">;
    readonly log: Logger;
  }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#loop = new Loop({
      clock: parts.clock,
      round: () => this.#round(),
      failed: (error) =>
        this.#log.debug({ err: String(error) }, "failed to renew claims of idempotent requests"),
    });
    this.#process = Buffer.from(parts.random.bytes(holderBytes)).toString("base64url");
  }

  /** Claims the key for a call, which must then `end` the claim. Otherwise returns the state of the key. */
  async begin(call: {
    readonly scope: string;
    readonly key: string;
    readonly fingerprint: string;
  }): Promise<ClaimedKey | Exclude<IdempotencyState, { kind: "claimed" }>> {
    // A repeat of a call that an outage left open: store that outcome first.
    if (this.#isUnsettled(call)) await this.#settle();
    const { scope, key, fingerprint } = call;
    const claim = { scope, key, holder: `${this.#process}.${++this.#calls}` };
    const now = this.#clock.now();
    let state: IdempotencyState;
    try {
      state = await this.#store.begin({
        ...claim,
        fingerprint,
        now,
        claimUntil: now + claimKeptMs,
        expiresAt: now + answerKeptMs,
      });
    } catch (error) {
      // The claim may have been written even though the response was lost.
      this.#leave({ claim, end: null });
      throw error;
    }
    if (state.kind !== "claimed") return state;
    this.#running.set(claim, this.#clock.monotonicMs());
    this.#wake();
    return claim;
  }

  /** Never rejects: the operation is done, and the caller needs the response more than the record of it. */
  async end(claim: ClaimedKey, end: End): Promise<void> {
    this.#running.delete(claim);
    const unsettled = { claim, end };
    try {
      await this.#write(unsettled);
    } catch (error) {
      this.#log.warn(
        { scope: claim.scope, err: String(error) },
        "failed to store the response of an idempotent request; will retry",
      );
      this.#leave(unsettled);
    }
  }

  /** Writes outstanding outcomes once more; claims that cannot be written expire. */
  async close(): Promise<void> {
    await this.#loop.stop();
    await this.#settle().catch(() => undefined);
  }

  #isUnsettled({ scope, key }: Pick<ClaimedKey, "scope" | "key">): boolean {
    for (const { claim } of this.#unsettled) if (claim.key === key && claim.scope === scope) return true;
    return false;
  }

  #leave(unsettled: Unsettled): void {
    this.#unsettled.add(unsettled);
    const [oldest] = this.#unsettled;
    if (this.#unsettled.size > unsettledMax && oldest !== undefined) this.#unsettled.delete(oldest);
    this.#wake();
  }

  #write({ claim, end }: Unsettled): Promise<void> {
    return end === null ? this.#store.abandon(claim) : this.#store.finish({ ...claim, ...end });
  }

  /** Sequential, and shared by concurrent callers. Rejects if the store cannot write. */
  #settle(): Promise<void> {
    this.#settling ??= this.#settleAll().finally(() => {
      this.#settling = null;
    });
    return this.#settling;
  }

  async #settleAll(): Promise<void> {
    for (const unsettled of this.#unsettled) {
      try {
        await this.#write(unsettled);
      } catch (error) {
        if (error instanceof StoreUnavailableError) throw error;
        this.#log.error({ err: String(error) }, "the store rejected the response of an idempotent request");
      }
      this.#unsettled.delete(unsettled);
    }
  }

  #wake(): void {
    if (this.#running.size + this.#unsettled.size === 0) return;
    this.#loop.soon(this.#unsettled.size > 0 ? settleMs : renewMs);
  }

  async #round(): Promise<void> {
    try {
      await this.#settle();
      await this.#renew();
    } finally {
      this.#wake();
    }
  }

  /** Skips young claims: most of their time remains, and nearly all calls end within it. */
  async #renew(): Promise<void> {
    const since = this.#clock.monotonicMs() - renewMs / 2;
    const claims = [...this.#running].filter(([, begun]) => begun <= since).map(([claim]) => claim);
    if (claims.length > 0) await this.#store.renew(claims, this.#clock.now() + claimKeptMs);
  }
}

const holderBytes = 12;
