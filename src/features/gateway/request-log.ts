import { receivedBodiesMs } from "./relayed.ts";
import { type Clock, Loop } from "../../ports/clock.ts";
import type { GatewayStore, ReceivedRequest } from "../../ports/store/gateway.ts";
import type { Logger } from "../../ports/telemetry.ts";
import { loggedError } from "./limited-log.ts";

export interface RequestLogOptions {
  readonly store: Pick<GatewayStore, "addRequests" | "request" | "updateRequest">;
  readonly clock: Clock;
  readonly log: Logger;
}

const gatherMs = 200;
/** Retry delay after a failed write. */
const againMs = 5_000;
const atOnce = 500;
/** Maximum number of waiting rows; it is exceeded only while the store is unavailable. */
const waitingMax = 10_000;
/** Maximum number of bodies per source, day and process. */
const bodiesMax = 100;
/** Maximum size, per source, of bodies and headers of unauthenticated requests that can be verified again. */
const unprovenBodyBytesMax = 384 * 1024;

/** Delay before counts are written; listings do not wait for them. */
const countMs = 5_000;

/**
 * Writes request log rows in the background, in batches, so that senders do not wait for it. Rows that the store cannot
 * accept are lost.
 */
export class RequestLog {
  readonly #options: RequestLogOptions;
  readonly #waiting: ReceivedRequest[] = [];
  #dropped = 0;
  readonly #bodies = new Map<string, { count: number; bytes: number; since: number }>();
  /** Number of further requests of the same kind, keyed by the row that counts them. */
  #more = new Map<string, number>();
  readonly #writing: Loop;

  constructor(options: RequestLogOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#writing = new Loop({
      clock,
      round: () => this.flush(),
      failed: (error) => {
        log.warn({ err: loggedError(error) }, "writing gateway requests to the log failed");
        // Retry even if no new requests arrive, because operators look for the pending rows.
        if (this.#waiting.length > 0) this.#writing.soon(againMs);
      },
    });
  }

  async stop(): Promise<void> {
    await this.#writing.stop();
    await this.flush().catch(() => undefined);
  }

  /** Counts a further request of the same kind as this row, without adding a row. */
  countMore(id: string): void {
    if (this.#more.size >= waitingMax && !this.#more.has(id)) return;
    this.#more.set(id, (this.#more.get(id) ?? 0) + 1);
    this.#writing.soon(countMs);
  }

  add(request: ReceivedRequest): void {
    if (this.#waiting.length >= waitingMax) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(request);
    this.#writing.soon(gatherMs);
  }

  /** Whether one more body of a request that created no event may be kept. */
  keepsBody(sourceId: string, bytes = 0, isProven = true): boolean {
    const now = this.#options.clock.now();
    const key = `${sourceId} ${isProven}`;
    let kept = this.#bodies.get(key);
    if (kept === undefined || now - kept.since > receivedBodiesMs)
      this.#bodies.set(key, (kept = { count: 0, bytes: 0, since: now }));
    if (kept.count >= bodiesMax || (!isProven && kept.bytes + bytes > unprovenBodyBytesMax)) return false;
    kept.count += 1;
    kept.bytes += bytes;
    return true;
  }

  /** Writes all pending rows. Rejects if the store cannot accept them. */
  async flush(): Promise<void> {
    const { store, log } = this.#options;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, atOnce);
      try {
        await store.addRequests(batch);
      } catch (error) {
        if (this.#waiting.length + batch.length <= waitingMax) this.#waiting.unshift(...batch);
        throw error;
      }
    }
    await this.#writeMore();
    if (this.#dropped === 0) return;
    log.warn({ count: this.#dropped }, "gateway requests were dropped from the log");
    this.#dropped = 0;
  }

  /** Adds the counts to the current rows, which a replay may have changed. */
  async #writeMore(): Promise<void> {
    const { store } = this.#options;
    const counts = this.#more;
    this.#more = new Map();
    for (const [id, count] of counts) {
      try {
        const row = await store.request(id);
        if (row !== null) await store.updateRequest({ ...row, more: row.more + count });
        counts.delete(id);
      } catch (error) {
        for (const [left, more] of counts) this.#more.set(left, (this.#more.get(left) ?? 0) + more);
        throw error;
      }
    }
  }
}
