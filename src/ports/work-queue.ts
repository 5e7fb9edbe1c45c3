import type { Priority } from "../core/delivery.ts";
import type { LaneKey } from "../core/webhook.ts";

/**
 * Carries the news that a lane has work from whoever left it to a worker. It names lanes, never deliveries: those the
 * database holds, and a worker that follows a notice claims whatever is due there by then. So everything in the queue may
 * be lost, repeated or late without losing an event or sending one twice; the sweeper announces again what nobody serves.
 *
 * Promises, proved by test/conformance/queue:
 * - a notice that was sent goes to one worker of its pool; one that was not handled when its worker died, or lost its
 *   connection, goes to another one;
 * - notices of high priority overtake the others, and none starves;
 * - sending returns at once and never throws: what cannot be carried is refused, so that the caller can go another way;
 * - a lost connection comes back by itself, after pauses that grow to five minutes (WDS-210), and consumers go on;
 * - a notice that cannot be read, or that was handed out too often, is parked, not lost from sight.
 */
export interface WorkQueue {
  /** Whether notices are carried now. */
  readonly isConnected: boolean;
  /** For any worker of the pool. False when they are not carried; true promises an effort, not an arrival. */
  send(notices: readonly WorkNotice[]): boolean;
  /** For the worker that owns these lanes. Lost when there is no such worker any more. False as for `send`. */
  tell(message: { readonly worker: number; readonly lanes: readonly LaneKey[] }): boolean;
  /** Begins to hand notices over. Once for each queue. */
  consume(consumer: WorkConsumer): void;
  /** Hands nothing more over, for good, and waits for what is being handled; sending and telling go on. Safe to call twice. */
  stopConsuming(): Promise<void>;
  /** From now on this process is the worker of that number, for `tell`; null for none. */
  listenAs(worker: number | null): void;
  /** Rejects with WorkQueueUnavailableError. */
  depth(): Promise<WorkQueueDepth>;
  /** As `stopConsuming`, and sends what still waits to be sent, within a few seconds. Safe to call twice. */
  close(): Promise<void>;
}

/** A lane with work that no worker serves. */
export interface WorkNotice {
  readonly lane: LaneKey;
  /** Workers are in one pool each; `default` unless the tenant was given another (WDS-220). */
  readonly pool: string;
  /** Of the first delivery that waits. */
  readonly priority: Priority;
}

/** Who takes notices. None of these functions throws or rejects. */
export interface WorkConsumer {
  readonly pool: string;
  /** `pass_on`: not for this worker; the notice goes to the end of its queue, for another one. */
  readonly handle: (notice: WorkNotice) => Promise<"done" | "pass_on">;
  /** Lanes that somebody told to this worker. */
  readonly told: (lanes: readonly LaneKey[]) => void;
  /** Notices may have been lost: the connection was away, or queues were deleted. Look everywhere. */
  readonly missed: () => void;
}

/** How much waits. */
export interface WorkQueueDepth {
  /** Notices that no worker has been given yet, for each pool that this process sends to or takes from. */
  readonly waiting: readonly {
    readonly pool: string;
    readonly priority: Priority;
    readonly notices: number;
  }[];
  readonly parked: number;
}

/** The queue cannot answer now. */
export class WorkQueueUnavailableError extends Error {
  override readonly name = "WorkQueueUnavailableError";
}
