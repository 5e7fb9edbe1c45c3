import type { Priority } from "../domain/delivery.ts";
import type { LaneKey } from "../domain/webhook.ts";

/**
 * Carries hints that a lane has work, from the process that stored the work to a worker. A hint names a lane, never a
 * delivery: the database holds deliveries, and a worker that follows a hint claims everything that is due there by
 * then. So any message may be lost, repeated or late without losing an event or sending one twice; the reannouncer
 * repeats hints for lanes that no worker serves.
 *
 * Promises, proved by test/conformance/queue:
 * - a hint goes to one worker of its pool; if that worker dies or loses its connection before handling it, it goes to
 *   another one;
 * - high-priority hints overtake the others, and none starves;
 * - sending returns at once and never throws: hints that cannot be carried are refused, so that the caller can use
 *   another way;
 * - a lost connection is restored automatically, after pauses that grow to five minutes (WDS-210), and consumers
 *   continue;
 * - a message that cannot be parsed, or was delivered too often, is parked and stays visible.
 */
export interface WorkQueue {
  /** Whether hints are carried now. */
  readonly isConnected: boolean;
  /** For any worker of the pool. False if the hints are not carried; true means best effort. */
  send(hints: readonly WorkHint[]): boolean;
  /** For the worker that owns these lanes. Lost if that worker no longer exists. False as for `send`. */
  notify(worker: number, lanes: readonly LaneKey[]): boolean;
  /** Starts delivery of hints. Call once per queue. */
  consume(consumer: WorkConsumer): void;
  /**
   * Stops delivery permanently and waits for running handlers; `send` and `notify` still work. Safe to call twice.
   */
  stopConsuming(): Promise<void>;
  /** Sets the worker number of this process for `notify`; null for none. */
  listenAs(worker: number | null): void;
  /** Rejects with WorkQueueUnavailableError. */
  depth(): Promise<WorkQueueDepth>;
  /** Like `stopConsuming`, and also flushes pending messages within a few seconds. Safe to call twice. */
  close(): Promise<void>;
}

/** A lane with work that no worker serves. */
export interface WorkHint {
  readonly lane: LaneKey;
  /** Each worker is in one pool; `default` unless the tenant has another (WDS-220). */
  readonly pool: string;
  /** Of the first waiting delivery. */
  readonly priority: Priority;
}

/** Consumer of hints. These functions neither throw nor reject. */
export interface WorkConsumer {
  readonly pool: string;
  /** `pass_on`: not for this worker; the hint goes to the end of its queue, for another worker. */
  readonly handle: (hint: WorkHint) => Promise<"done" | "pass_on">;
  /** Lanes in messages to this worker. */
  readonly notified: (lanes: readonly LaneKey[]) => void;
  /** Hints may have been lost, because the connection was down or queues were deleted. Check everything. */
  readonly missed: () => void;
}

/** Queue sizes. */
export interface WorkQueueDepth {
  /** Hints not yet handed to a worker, for each pool that this process sends to or consumes from. */
  readonly waiting: readonly {
    readonly pool: string;
    readonly priority: Priority;
    readonly hints: number;
  }[];
  readonly parked: number;
}

/** The queue cannot answer now. */
export class WorkQueueUnavailableError extends Error {
  override readonly name = "WorkQueueUnavailableError";
}
