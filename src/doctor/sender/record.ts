import type { IncomingHttpHeaders } from "node:http";

/** A request that a sender made, as raw as it came. */
export interface RecordedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** `performance.now()` when its head arrived. */
  readonly arrivedAtMs: number;
  /** Unix milliseconds. */
  readonly receivedAt: number;
  /** What it was answered, and the seconds of a Retry-After. */
  readonly status: number;
  readonly retryAfterSeconds: number | null;
}

/** The requests of one event, in order of arrival. */
export interface RecordedEvent {
  readonly key: string;
  readonly requests: readonly RecordedRequest[];
}

/** How a sender names an event: the same in all its attempts. */
export function eventKeyOf(headers: IncomingHttpHeaders): string | null {
  for (const name of ["idempotency-key", "webhook-id", "x-idempotency-key", "ce-id"]) {
    const value = headers[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return null;
}

export function headerText(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name.toLowerCase()];
  if (value === undefined) return null;
  return typeof value === "string" ? value : value.join(", ");
}
