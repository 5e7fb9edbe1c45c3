import type { ClassificationTable, Profile, StatusRule } from "./profile.ts";

/** Shared by all accepted attempts, so that the common case allocates nothing. */
const accepted: Verdict = {
  outcome: "accepted",
  receiverStateUnknown: false,
  category: undefined,
  reason: "success",
  attention: undefined,
};

/**
 * Classifies one attempt according to a profile (EDS-9.2, EDS-9.3). Defined for every status number.
 *
 * Takes a profile or a resolved policy; only the classification table is read. Never throws.
 */
export function classify(observation: AttemptObservation, rules: Pick<Profile, "classification">): Verdict {
  const table = rules.classification;
  if (observation.kind === "failure") {
    return failureVerdict(
      table.failures[observation.category],
      observation.category,
      observation.requestSent,
    );
  }
  const rule = statusRule(table, observation.status);
  // EDS-9.3-2: a truncated response is not final, regardless of its status line.
  if (!observation.complete && table.incompleteResponse === "transient") {
    return incompleteVerdict(rule, observation.status);
  }
  return rule.outcome === "accepted" ? accepted : statusVerdict(rule, observation.status);
}

/**
 * Adjusts a verdict to the circumstances. `attemptNumber` counts the requests sent so far, including this one.
 * `sunsetAt` is when the endpoint will be gone, as it announced (RFC 8594), or null. A transient failure becomes final
 * when its category allows no further request (WDS-128), or when `sunsetAt` has passed (EDS-9.2.3-16).
 */
export function judge(
  verdict: Verdict,
  attemptNumber: number,
  sunsetAt: number | null,
  now: number,
  rules: Pick<Profile, "attemptsMaxByCategory" | "sunset">,
): Verdict {
  if (verdict.outcome !== "transient") return verdict;
  const attemptsMax =
    verdict.category === undefined ? undefined : rules.attemptsMaxByCategory[verdict.category];
  if (attemptsMax !== undefined && attemptNumber >= attemptsMax) {
    return { ...verdict, outcome: "terminal", reason: `permanent_${verdict.category}_error_retry_limit` };
  }
  if (rules.sunset === "terminal" && sunsetAt !== null && sunsetAt <= now) {
    return { ...verdict, outcome: "terminal", reason: "permanent_after_sunset" };
  }
  return verdict;
}

/** The rule for a status: an exact match, then its class, then the fallback. */
export function statusRule(table: ClassificationTable, status: number): StatusRule {
  return table.statuses[status] ?? table.classes[Math.floor(status / 100)] ?? table.fallback;
}

function statusVerdict(rule: StatusRule, status: number): Verdict {
  return {
    outcome: rule.outcome,
    receiverStateUnknown: rule.receiverStateUnknown === true,
    category: rule.category,
    reason: statusReason(rule, status),
    attention: rule.attention,
  };
}

/** A truncated acceptance or refusal may be retried. A failure that would be retried anyway keeps its own reason. */
function incompleteVerdict(rule: StatusRule, status: number): Verdict {
  if (rule.outcome === "transient") return { ...statusVerdict(rule, status), receiverStateUnknown: true };
  return {
    outcome: "transient",
    receiverStateUnknown: true,
    category: "network",
    reason: `incomplete_response_${status}`,
    attention: undefined,
  };
}

function failureVerdict(rule: StatusRule, category: TransportFailureCategory, requestSent: boolean): Verdict {
  return {
    outcome: rule.outcome,
    receiverStateUnknown: requestSent,
    category: rule.category ?? category,
    reason: rule.outcome === "terminal" ? `permanent_${category}` : (rule.reason ?? category),
    attention: rule.attention,
  };
}

/** Stable codes. Terminal codes follow WDS-125 (`permanent_client_error_410`), including 413. */
function statusReason(rule: StatusRule, status: number): string {
  if (rule.outcome === "terminal") return `permanent_${statusClassName(status)}_${status}`;
  if (rule.reason !== undefined) return rule.reason;
  switch (rule.category) {
    case "rate_limit":
      return "rate_limited";
    case "timeout":
      return `timeout_${status}`;
    case "redirect":
      return `redirect_${status}`;
    case "protocol":
      return `unexpected_status_${status}`;
    default:
      return `${statusClassName(status)}_${status}`;
  }
}

function statusClassName(status: number): string {
  if (status >= 400 && status < 500) return "client_error";
  if (status >= 500 && status < 600) return "server_error";
  return "status";
}

/**
 * The possible outcomes of a request, and the terms for the causes of failures.
 *
 * There are exactly three outcomes (EDS-2-5). `receiverStateUnknown` means that the request may have been processed
 * although no complete response arrived (EDS-9.3-2); a retry then relies on the idempotency key.
 */
export type Outcome = "accepted" | "transient" | "terminal";

/** The categories of WDS-72, plus `redirect` (a 3xx is never followed) and `protocol` (the response is not HTTP). */
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
  /** Absent if the attempt was accepted. */
  readonly category?: FailureCategory | undefined;
  /** The reason of a terminal verdict starts with `permanent_` and is also the reason of its dead letter. */
  readonly reason: string;
  readonly attention?: Attention | undefined;
}
