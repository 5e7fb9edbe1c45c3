import { clientNetwork } from "../core/http/client-network.ts";
import type { Clock } from "../ports/clock.ts";

/** Failures that one address may have at a source before it is limited, and how fast they decay. */
interface Allowance {
  readonly burst: number;
  readonly perSecond: number;
}

/** Requests whose head alone shows that they carry no proof. */
const withoutProof: Allowance = { burst: 30, perSecond: 0.5 };
/**
 * Requests with an invalid proof. Generous, because many senders may share an address behind a proxy that
 * `POSTHORN_TRUSTED_PROXIES` does not list.
 */
const wrongProof: Allowance = { burst: 300, perSecond: 5 };
/** An address with an authentic message to the source within this time is not limited by invalid proofs. */
const trustMs = 3_600_000;
/** Maximum number of tracked pairs of source and address; the least recently seen are evicted first. */
const entriesMax = 10_000;

interface Sender {
  withoutProof: number;
  wrongProof: number;
  /** Time of the two counts. */
  at: number;
  verifiedAt: number;
}

/** The limit for the next request of an address, before its body is read. */
export interface SenderLimit {
  /** Refuse it if its head shows no proof. */
  readonly needsProof: boolean;
  /** Refuse it in any case. */
  readonly isClosed: boolean;
  readonly retryAfterSeconds: number;
}

/** Failed verifications by source and client address, in bounded memory. */
export class FailedSenders {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #senders = new Map<string, Sender>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#senders.size;
  }

  /** Null for an address that is not limited. */
  limit(sourceId: string, address: string): SenderLimit | null {
    const sender = this.#senders.get(keyOf(sourceId, address));
    if (sender === undefined) return null;
    this.#forget(sender);
    const needsProof = sender.withoutProof > withoutProof.burst - 1;
    const isTrusted = this.#clock.monotonicMs() - sender.verifiedAt <= trustMs;
    const isClosed = !isTrusted && sender.wrongProof > wrongProof.burst - 1;
    if (!needsProof && !isClosed) return null;
    const retryAfterSeconds = isClosed ? 1 / wrongProof.perSecond : 1 / withoutProof.perSecond;
    return { needsProof, isClosed, retryAfterSeconds };
  }

  failed(sourceId: string, address: string, hadProof: boolean): void {
    const sender = this.#senderAt(keyOf(sourceId, address));
    if (hadProof) sender.wrongProof = Math.min(sender.wrongProof + 1, wrongProof.burst);
    else sender.withoutProof = Math.min(sender.withoutProof + 1, withoutProof.burst);
  }

  verified(sourceId: string, address: string): void {
    const key = keyOf(sourceId, address);
    // Only addresses that also fail are tracked.
    if (this.#senders.has(key)) this.#senderAt(key).verifiedAt = this.#clock.monotonicMs();
  }

  /** The sender, moved to the end of the eviction order. */
  #senderAt(key: string): Sender {
    const now = this.#clock.monotonicMs();
    const known = this.#senders.get(key);
    const sender = known ?? { withoutProof: 0, wrongProof: 0, at: now, verifiedAt: Number.NEGATIVE_INFINITY };
    this.#forget(sender);
    this.#senders.delete(key);
    this.#senders.set(key, sender);
    if (this.#senders.size > entriesMax) {
      const [oldest] = this.#senders.keys();
      if (oldest !== undefined) this.#senders.delete(oldest);
    }
    return sender;
  }

  #forget(sender: Sender): void {
    const now = this.#clock.monotonicMs();
    const seconds = (now - sender.at) / 1_000;
    sender.withoutProof = Math.max(0, sender.withoutProof - seconds * withoutProof.perSecond);
    sender.wrongProof = Math.max(0, sender.wrongProof - seconds * wrongProof.perSecond);
    sender.at = now;
  }
}

function keyOf(sourceId: string, address: string): string {
  return `${sourceId} ${clientNetwork(address)}`;
}
