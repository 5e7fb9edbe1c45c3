import { receivedBodiesMs } from "../core/gateway/request.ts";
import type { Clock } from "../ports/clock.ts";
import type { GatewayStore, ReceivedRequest } from "../ports/store/gateway.ts";
import type { Logger } from "../ports/telemetry.ts";
import { loggedError } from "./logged-error.ts";
import { Loop } from "../ports/timing/loop.ts";

export interface RequestLogOptions {
  readonly store: Pick<GatewayStore, "addRequests" | "request" | "updateRequest">;
  readonly clock: Clock;
  readonly log: Logger;
}

const gatherMs = 200;
/** After a write that failed. */
const againMs = 5_000;
const atOnce = 500;
/** More than this waits only while the store is away. */
const waitingMax = 10_000;
/** Of one source in a day, per process. */
const bodiesMax = 100;
/** Of the bodies and headers of one source without proof that can be verified again. */
const unprovenBodyBytesMax = 384 * 1024;

/** How soon counts are in the store; a listing does not wait for that. */
const countMs = 5_000;

/** Writes down what came in, a moment later and many at once: no sender waits for it. What the store cannot take is lost. */
export class RequestLog {
  readonly #options: RequestLogOptions;
  readonly #waiting: ReceivedRequest[] = [];
  #dropped = 0;
  readonly #bodies = new Map<string, { count: number; bytes: number; since: number }>();
  /** How many more there were, by row. */
  #more = new Map<string, number>();
  readonly #writing: Loop;

  constructor(options: RequestLogOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#writing = new Loop({
      clock,
      round: () => this.flush(),
      failed: (error) => {
        log.warn({ err: loggedError(error) }, "requests of the gateway could not be written down");
        // No other request may come for long, and people look for those that came.
        if (this.#waiting.length > 0) this.#writing.soon(againMs);
      },
    });
  }

  async stop(): Promise<void> {
    await this.#writing.stop();
    await this.flush().catch(() => undefined);
  }

  /** One more request like that of this row has no row of its own. */
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

  /** Whether one more body of what became no event may be kept. */
  keepsBody(
    sourceId: string,
    { bytes, isProven }: { readonly bytes: number; readonly isProven: boolean } = {
      bytes: 0,
      isProven: true,
    },
  ): boolean {
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

  /** Everything that was added is in the store, or the store cannot take it. */
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
    log.warn({ count: this.#dropped }, "requests of the gateway were not written down");
    this.#dropped = 0;
  }

  /** Adds what was counted to the rows, as they are by now: a replay may have changed them. */
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
