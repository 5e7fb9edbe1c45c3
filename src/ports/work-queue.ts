import type { Priority } from "../core/delivery.ts";
import type { LaneKey } from "../core/webhook.ts";

/**
 * Carries hints that a lane has work, from the process that stored the work to a worker. A hint names a lane, never a
 * delivery: the database holds those, and a worker that follows a hint claims all that is due there by then. So
 * everything in the queue may be lost, repeated or late without losing an event or sending one twice; the reannouncer
 * announces again what nobody serves.
 *
 * Promises, proved by test/conformance/queue:
 * - a notice that was sent goes to one worker of its pool; one that was not handled when its worker died, or lost its
 *   connection, goes to another one;
 * - hints of high priority overtake the others, and none starves;
 * - sending returns at once and never throws: what cannot be carried is refused, so that the caller can go another way;
 * - a lost connection comes back by itself, after pauses that grow to five minutes (WDS-210), and consumers go on;
 * - a notice that cannot be read, or that was handed out too often, is parked, not lost from sight.
 */
export interface WorkQueue {
  /** Whether hints are carried now. */
  readonly isConnected: boolean;
  /** For any worker of the pool. False when they are not carried; true promises an effort, not an arrival. */
  send(hints: readonly WorkHint[]): boolean;
  /** For the worker that owns these lanes. Lost when there is no such worker any more. False as for `send`. */
  notify(message: { readonly worker: number; readonly lanes: readonly LaneKey[] }): boolean;
  /** Begins to hand hints over. Once for each queue. */
  consume(consumer: WorkConsumer): void;
  /**
   * Hands nothing more over, for good, and waits for running handlers; `send` and `notify` go on. Safe to call twice.
   */
  stopConsuming(): Promise<void>;
  /** From now on this process is the worker of that number, for `notify`; null for none. */
  listenAs(worker: number | null): void;
  /** Rejects with WorkQueueUnavailableError. */
  depth(): Promise<WorkQueueDepth>;
  /** As `stopConsuming`, and sends what still waits to be sent, within a few seconds. Safe to call twice. */
  close(): Promise<void>;
}

/** A lane with work that no worker serves. */
export interface WorkHint {
  readonly lane: LaneKey;
  /** Workers are in one pool each; `default` unless the tenant was given another (WDS-220). */
  readonly pool: string;
  /** Of the first delivery that waits. */
  readonly priority: Priority;
}

/** Who takes hints. None of these functions throws or rejects. */
export interface WorkConsumer {
  readonly pool: string;
  /** `pass_on`: not for this worker; the hint goes to the end of its queue, for another one. */
  readonly handle: (hint: WorkHint) => Promise<"done" | "pass_on">;
  /** Lanes in messages to this worker. */
  readonly notified: (lanes: readonly LaneKey[]) => void;
  /** Hints may have been lost: the connection was away, or queues were deleted. Look everywhere. */
  readonly missed: () => void;
}

/** How much waits. */
export interface WorkQueueDepth {
  /** Hints that no worker has been given yet, for each pool that this process sends to or takes from. */
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
