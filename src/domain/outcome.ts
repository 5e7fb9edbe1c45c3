/**
 * What a sender may conclude from one request, and the terms for why it failed.
 *
 * There are exactly three outcomes (EDS-2-5). `receiverStateUnknown` means that the request may have been processed
 * although no complete response arrived (EDS-9.3-2); a retry then relies on the idempotency key.
 */
export type Outcome = "accepted" | "transient" | "terminal";

/** WDS-72, plus `redirect` (a 3xx is never followed) and `protocol` (the response is not HTTP). */
export const failureCategories = [
  "timeout",
  "server_error",
  "client_error",
  "network",
  "dns",
  "ssl",
  "rate_limit",
  "payload_too_large",
  "redirect",
  "protocol",
] as const;
export type FailureCategory = (typeof failureCategories)[number];

/** A request that ended without a final status line and a complete response. */
export type TransportFailureCategory = Extract<
  FailureCategory,
  "timeout" | "network" | "dns" | "ssl" | "protocol"
>;

/**
 * What the transport observed, limited to what classification may use. The response body is deliberately absent: it
 * never changes an outcome (EDS-9.2.1-6, EDS-6.2-5).
 */
export type AttemptObservation =
  | {
      readonly kind: "response";
      readonly status: number;
      /** False if the framing shows that the response ended early: short Content-Length, open chunk, reset. */
      readonly complete: boolean;
      /** Raw `Retry-After` field value. */
      readonly retryAfter?: string;
    }
  | {
      readonly kind: "failure";
      readonly category: TransportFailureCategory;
      /** True once request bytes were sent: the receiver may have acted on them. */
      readonly requestSent: boolean;
    };

/** Who should be notified: `warn` writes a log entry, `notify` notifies the owner, `escalate` the operator. */
export type Attention = "warn" | "notify" | "escalate";

/** A classified attempt. `reason` is a stable code such as `server_error_503` or `timeout`. */
export interface Verdict {
  readonly outcome: Outcome;
  readonly receiverStateUnknown: boolean;
  /** Absent if accepted. */
  readonly category?: FailureCategory | undefined;
  /** The reason of a terminal verdict starts with `permanent_` and is also the reason of its dead letter. */
  readonly reason: string;
  readonly attention?: Attention | undefined;
}
