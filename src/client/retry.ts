import { backoffMs } from "../core/backoff.ts";
import {
  ApiError,
  type PosthornClientError,
  UnansweredError,
  UnexpectedAnswerError,
} from "./client-error.ts";

export interface RetryOptions {
  /** Maximum requests for one call, including the first; default 4. */
  readonly attemptsMax?: number;
  /** Delay before the second request, doubled each time and reduced by a random part of up to half; default 250. */
  readonly delayMsMin?: number;
  /** Default 8,000. */
  readonly delayMsMax?: number;
  /** A longer `Retry-After` ends the call with its error; default 60,000. */
  readonly retryAfterMsMax?: number;
  /** Final decision in cases where a retry would make sense. */
  readonly mayRetry?: (error: PosthornClientError) => boolean;
}

export type RetryRules = Required<RetryOptions>;

export const retryDefaults: RetryRules = {
  attemptsMax: 4,
  delayMsMin: 250,
  delayMsMax: 8_000,
  retryAfterMsMax: 60_000,
  mayRetry: () => true,
};

/** Another call with this key is running, perhaps our own whose response was lost; a retry gets its response. */
const passingConflicts = new Set(["idempotency_key_in_progress", "event_in_progress"]);

const passingStatuses = new Set([408, 429, 500, 502, 503, 504]);

/**
 * The delay before the same request is repeated with the same key; null if a repeat would not help. A faulty request
 * must be corrected first (IDK-25).
 */
export function retryDelayMs(
  error: PosthornClientError,
  rules: RetryRules,
  attempts: number,
  random: number,
): number | null {
  if (attempts >= rules.attemptsMax || !passes(error) || !rules.mayRetry(error)) return null;
  const ownMs = backoffMs(rules, attempts - 1, random);
  const askedMs = (retryAfterSeconds(error) ?? 0) * 1_000;
  return askedMs > rules.retryAfterMsMax ? null : Math.max(ownMs, askedMs);
}

function passes(error: PosthornClientError): boolean {
  if (error instanceof UnansweredError) return true;
  if (error instanceof ApiError)
    return passingStatuses.has(error.status) || (error.status === 409 && passingConflicts.has(error.code));
  return error instanceof UnexpectedAnswerError && passingStatuses.has(error.status);
}

function retryAfterSeconds(error: PosthornClientError): number | null {
  return error instanceof ApiError || error instanceof UnexpectedAnswerError ? error.retryAfterSeconds : null;
}
