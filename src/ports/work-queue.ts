import type { Priority } from "../domain/delivery.ts";
import type { LaneKey } from "../domain/webhook.ts";

/**
 * Carries hints that a lane has work, from the process that stored the work to a worker. A hint names a lane, never a
 * delivery: the database holds deliveries, and a worker that handles a hint claims everything that is due in the lane
 * by then. A message may therefore be lost, repeated or late, but no event is lost or sent twice because of it. The
 * reannouncer repeats hints for lanes that no worker serves.
 *
 * Promises, proved by test/conformance/queue:
 * - a hint goes to one worker of its pool; if that worker dies or loses its connection before handling the hint, it
 *   goes to another worker;
 * - high-priority hints overtake other hints, but every hint is eventually delivered;
 * - sending returns immediately and never throws: hints that cannot be sent are refused, so that the caller can use
 *   another channel;
 * - a lost connection is restored automatically, after pauses that grow to five minutes (WDS-210), and consumers
 *   continue;
 * - a message that cannot be parsed, or was delivered too often, is parked and stays visible.
 */
export interface WorkQueue {
  /** Whether hints can be sent now. */
  readonly isConnected: boolean;
  /**
   * Sends hints to any worker of the pool. False if the hints are refused. True does not guarantee that they arrive.
   */
  send(hints: readonly WorkHint[]): boolean;
  /**
   * Sends lanes to the worker that owns them. The message is lost if that worker no longer exists. Returns false if the
   * message is refused, as in `send`.
   */
  notify(worker: number, lanes: readonly LaneKey[]): boolean;
  /** Starts delivery of hints. Call once per queue. */
  consume(consumer: WorkConsumer): void;
  /**
   * Stops delivery of hints permanently, and waits for running handlers. `send` and `notify` still work. Safe to call
   * twice.
   */
  stopConsuming(): Promise<void>;
  /** Sets the worker number of this process for `notify`; null if it has none. */
  listenAs(worker: number | null): void;
  /** Reads the sizes of the queues. Rejects with WorkQueueUnavailableError. */
  depth(): Promise<WorkQueueDepth>;
  /** Like `stopConsuming`, and also flushes pending messages within a few seconds. Safe to call twice. */
  close(): Promise<void>;
}

/** A lane with work that no worker serves. */
export interface WorkHint {
  readonly lane: LaneKey;
  /**
   * The pool that serves the tenant: `default`, unless the tenant is assigned to a different one (WDS-220). Each worker
   * is in one pool.
   */
  readonly pool: string;
  /** Priority of the first waiting delivery. */
  readonly priority: Priority;
}

/** The consumer of hints. Its functions neither throw nor reject. */
export interface WorkConsumer {
  readonly pool: string;
  /** `pass_on`: the hint is not for this worker, and is requeued at the end of the queue for another worker. */
  readonly handle: (hint: WorkHint) => Promise<"done" | "pass_on">;
  /** Called with the lanes of a message that was sent to this worker. */
  readonly notified: (lanes: readonly LaneKey[]) => void;
  /**
   * Called when hints may have been lost, because the connection was down or queues were deleted. The consumer must
   * then check everything.
   */
  readonly missed: () => void;
}

/** The sizes of the queues. */
export interface WorkQueueDepth {
  /** Hints not yet passed to a worker, for each pool that this process sends to or consumes from. */
  readonly waiting: readonly {
    readonly pool: string;
    readonly priority: Priority;
    readonly hints: number;
  }[];
  readonly parked: number;
}

/** The queue cannot respond now. */
export class WorkQueueUnavailableError extends Error {
  override readonly name = "WorkQueueUnavailableError";
}
