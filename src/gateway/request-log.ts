import { receivedBodiesMs } from "../core/gateway/request.ts";
import type { Clock } from "../ports/clock.ts";
import type { GatewayStore, ReceivedRequest } from "../ports/store/gateway.ts";
import type { Logger } from "../ports/telemetry.ts";
import { Loop } from "../ports/timing/loop.ts";

export interface RequestLogOptions {
  readonly store: Pick<GatewayStore, "addRequests">;
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

/** Writes down what came in, a moment later and many at once: no sender waits for it. What the store cannot take is lost. */
export class RequestLog {
  readonly #options: RequestLogOptions;
  readonly #waiting: ReceivedRequest[] = [];
  #dropped = 0;
  readonly #bodies = new Map<string, { count: number; since: number }>();
  readonly #writing: Loop;

  constructor(options: RequestLogOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#writing = new Loop({
      clock,
      round: () => this.flush(),
      failed: (error) => {
        log.warn({ err: String(error) }, "requests of the gateway could not be written down");
        // No other request may come for long, and people look for those that came.
        if (this.#waiting.length > 0) this.#writing.soon(againMs);
      },
    });
  }

  async stop(): Promise<void> {
    await this.#writing.stop();
    await this.flush().catch(() => undefined);
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
  keepsBody(sourceId: string): boolean {
    const now = this.#options.clock.now();
    const kept = this.#bodies.get(sourceId);
    if (kept === undefined || now - kept.since > receivedBodiesMs) {
      this.#bodies.set(sourceId, { count: 1, since: now });
      return true;
    }
    kept.count += 1;
    return kept.count <= bodiesMax;
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
    if (this.#dropped === 0) return;
    log.warn({ count: this.#dropped }, "requests of the gateway were not written down");
    this.#dropped = 0;
  }
}
