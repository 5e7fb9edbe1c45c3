import type { OperationalEvent } from "../../core/notifications/operational-event.ts";
import type { CountedEnding } from "./deliveries.ts";

/**
 * House-keeping in small steps. Each call does at most `limit` rows of work and says whether there is more, so that it
 * never holds up a delivery.
 */
export interface UpkeepStore {
  /** Dead-letters free waiting deliveries that are older than their webhook's horizon (C-37). */
  expire(step: ExpireStep): Promise<StepResult>;
  /** Whether deliveries were created later than `now`, as by a clock that was ahead. Cheap; may err towards true. */
  hasFutureDeliveries(now: number): Promise<boolean>;
  /**
   * Brings due times near that were written while a clock was ahead (core/due-times.ts). Visits `limit` waiting
   * deliveries behind the mark `after` and leaves alone what is leased.
   */
  bringNear(step: BringNearStep): Promise<BringNearResult>;
  /** Cancels waiting deliveries of a deleted webhook, also those that somebody holds. */
  cancelWebhook(step: CancelStep): Promise<StepResult>;
  /** Removes bodies of events created before a time, unless a delivery of theirs still waits. */
  forgetPayloads(step: { readonly createdBefore: number; readonly limit: number }): Promise<StepResult>;
  /**
   * Removes finished deliveries with their attempts, and events without deliveries, created before a time. An event goes
   * with its deduplication key, which finds it until then, and not before that has expired.
   */
  forgetHistory(step: HistoryStep): Promise<StepResult>;
  /** Removes rows of the audit log from before a time. */
  forgetAudit(step: { readonly createdBefore: number; readonly limit: number }): Promise<StepResult>;
  /** Removes expired idempotency answers and API keys. */
  forgetKeys(step: { readonly now: number; readonly limit: number }): Promise<StepResult>;
}

/** A part of the walk through all that waits; null begins it. */
export interface BringNearStep {
  readonly now: number;
  readonly after: string | null;
  readonly limit: number;
}

/** `next` is the mark for the next step, null at the end. */
export interface BringNearResult {
  readonly changed: number;
  readonly next: string | null;
}

/** Which history is too old; `now` tells which deduplication keys have expired. */
export interface HistoryStep {
  readonly createdBefore: number;
  readonly now: number;
  readonly limit: number;
}

/** Which waiting deliveries are too old. */
export interface ExpireStep extends CountedEnding {
  readonly now: number;
  readonly limit: number;
  /** Horizon of each webhook; webhooks not listed use `ageMsDefault`. */
  readonly ageMsByWebhook: ReadonlyMap<string, number>;
  readonly ageMsDefault: number;
  /** What is told of the deliveries that the step ended, one of each webhook; stored in the same transaction. Pure. */
  readonly tell?: (expired: readonly ExpiredDelivery[]) => readonly OperationalEvent[];
}

/** A delivery that became too old while it waited. */
export interface ExpiredDelivery {
  readonly id: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly tenantId: string;
  readonly webhookId: string;
  /** Requests made before. */
  readonly attemptCount: number;
}

/** Which webhook was deleted. Once nothing of it waits it is no longer one of `deletedWithWork`. */
export interface CancelStep extends CountedEnding {
  readonly webhookId: string;
  readonly now: number;
  readonly limit: number;
  /** It stays one of them, because publishers that have not heard of the deletion may still write for it. */
  readonly keepsMark?: true;
}

/** What one step did. */
export interface StepResult {
  /** Rows changed. */
  readonly changed: number;
  /** True when another step would find more to do right away. */
  readonly more: boolean;
}
