import type { OperationalEvent } from "../../features/notifications/operational-event.ts";
import type { CountedEnding } from "./deliveries.ts";

/**
 * Housekeeping in small steps. Each call processes no more than `limit` rows and reports whether more remain, so it
 * never blocks a delivery.
 */
export interface UpkeepStore {
  /** Dead-letters waiting deliveries that are unleased and older than the maximum age of their webhook. */
  expire(step: ExpireStep): Promise<StepResult>;
  /**
   * Whether deliveries have a creation time later than `now`, for example because a clock was ahead. Cheap; may return
   * true if unsure.
   */
  hasFutureDeliveries(now: number): Promise<boolean>;
  /**
   * Corrects due times that were written while a clock was ahead (domain/due-times.ts). Visits `limit` waiting
   * deliveries after the cursor `after` and skips leased ones.
   */
  bringNear(step: BringNearStep): Promise<BringNearResult>;
  /** Cancels waiting deliveries of a deleted webhook, including leased ones. */
  cancelWebhook(step: CancelStep): Promise<StepResult>;
  /** Removes bodies of events created before a given time, unless one of their deliveries still waits. */
  forgetPayloads(createdBefore: number, limit: number): Promise<StepResult>;
  /**
   * Removes finished deliveries with their attempts, and events without deliveries, created before a given time. The
   * deduplication key refers to the event, so both are removed together, and not before the key has expired.
   */
  forgetHistory(step: HistoryStep): Promise<StepResult>;
  /** Removes audit rows that are older than a given time. */
  forgetAudit(createdBefore: number, limit: number): Promise<StepResult>;
  /** Removes expired idempotency responses and API keys. */
  forgetKeys(now: number, limit: number): Promise<StepResult>;
}

/** One step of the scan of waiting deliveries. A null `after` starts the scan. */
export interface BringNearStep {
  readonly now: number;
  readonly after: string | null;
  readonly limit: number;
}

/** `next` is the cursor for the next step; null at the end. */
export interface BringNearResult {
  readonly changed: number;
  readonly next: string | null;
}

/** Selects the history that is too old. `now` determines which deduplication keys have expired. */
export interface HistoryStep {
  readonly createdBefore: number;
  readonly now: number;
  readonly limit: number;
}

/** Selects the waiting deliveries that are too old. */
export interface ExpireStep extends CountedEnding {
  readonly now: number;
  readonly limit: number;
  /** Maximum age of each webhook's deliveries. All other webhooks use `ageMsDefault`. */
  readonly ageMsByWebhook: ReadonlyMap<string, number>;
  readonly ageMsDefault: number;
  /**
   * Creates the operational events for the deliveries that the step ended, one event per webhook. They are stored in
   * the same transaction. Must be pure.
   */
  readonly tell?: (expired: readonly ExpiredDelivery[]) => readonly OperationalEvent[];
}

/** A waiting delivery that became too old. */
export interface ExpiredDelivery {
  readonly id: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly tenantId: string;
  readonly webhookId: string;
  /** Number of requests sent so far. */
  readonly attemptCount: number;
}

/** A deleted webhook. It is removed from `deletedWithWork` once it has no waiting deliveries. */
export interface CancelStep extends CountedEnding {
  readonly webhookId: string;
  readonly now: number;
  readonly limit: number;
  /**
   * Whether to keep the webhook in `deletedWithWork`, because publishers that have not seen the deletion yet may still
   * write deliveries.
   */
  readonly keepsMark?: true;
}

/** Result of one step. */
export interface StepResult {
  /** Number of changed rows. */
  readonly changed: number;
  /** Whether another step would find more work now. */
  readonly more: boolean;
}
