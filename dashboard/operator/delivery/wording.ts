/** Sentences about deliveries: what state they are in, what they wait for, and what ends that. */
import type { Attempt, Delivery } from "../../shared/resources.ts";
import { duration } from "../../shared/time/time-format.ts";
import type { Tone } from "../../shared/ui/tone.ts";

type Status = Delivery["status"];

interface StatusWords {
  readonly tone: Tone;
  readonly text: string;
}

const statusWords: Readonly<Record<Status, StatusWords>> = {
  pending: { tone: "new", text: "pending" },
  failed: { tone: "wait", text: "will retry" },
  success: { tone: "good", text: "accepted" },
  exhausted: { tone: "bad", text: "given up" },
  circuit_blocked: { tone: "held", text: "circuit open" },
  skipped: { tone: "off", text: "skipped" },
  cancelled: { tone: "off", text: "cancelled" },
};

export const statuses = Object.keys(statusWords) as readonly Status[];

export function wordsOf(status: Status): StatusWords {
  return statusWords[status];
}

export interface Waiting {
  /** In a cell of a table. */
  readonly short: string;
  readonly sentence: string;
}

const waits: Readonly<Record<string, Waiting>> = {
  schedule: {
    short: "next retry",
    sentence: "The last attempt failed. It waits for the next one of its schedule.",
  },
  retry_after: {
    short: "Retry-After",
    sentence: "The receiver asked to wait with Retry-After.",
  },
  rate_limit_pause: {
    short: "pause after 429",
    sentence: "The receiver answered 429 without saying for how long, so its webhook pauses.",
  },
  timeout_pause: {
    short: "pause after timeout",
    sentence: "The receiver did not answer in time, so its webhook pauses.",
  },
  throttle_pause: {
    short: "pause after 502 or 504",
    sentence: "The receiver's gateway answered 502 or 504, so its webhook pauses.",
  },
  failure_pause: {
    short: "pause after failure",
    sentence: "A connection ended without an answer, so the webhook pauses.",
  },
  rate_limit: {
    short: "rate limit",
    sentence: "The webhook's rate limit is used up. It goes as soon as the limit lets it.",
  },
  tenant_rate_limit: {
    short: "tenant's rate limit",
    sentence: "The rate limit of its tenant is used up. It goes as soon as the limit lets it.",
  },
  circuit_open: {
    short: "circuit open",
    sentence: "Too many requests to this webhook failed, so its circuit is open and nothing is sent.",
  },
  order: {
    short: "earlier delivery",
    sentence: "This webhook gets its events in order, and an earlier delivery comes first.",
  },
  inactive: {
    short: "webhook not active",
    sentence: "The webhook is not active. Nothing is sent until somebody enables it.",
  },
  no_signing_key: {
    short: "no signing key",
    sentence: "The webhook has no key for its signatures, and nothing is sent unsigned. Replace its secret.",
  },
  paused: {
    short: "paused by hand",
    sentence: "Somebody paused the webhook. What it waits with goes out when the pause ends.",
  },
  concurrency: {
    short: "a free place",
    sentence: "As many requests as allowed are on their way to this webhook.",
  },
  capacity: {
    short: "a free place",
    sentence: "The process has as many requests in flight as it may, or no worker of its tenant's pool runs.",
  },
  in_flight: { short: "its answer", sentence: "Its request is on the way." },
};

export function waitingOf(reason: string): Waiting {
  return waits[reason] ?? { short: reason, sentence: `It waits for: ${reason}.` };
}

/** Why it ended, for those that are over. */
export function endingOf({ status, reason }: Pick<Delivery, "status" | "reason">): string | null {
  if (status === "success") return "The receiver accepted it.";
  const known = endings[reason ?? ""];
  if (known !== undefined) return known;
  if (reason?.startsWith("permanent_") === true) {
    return "The receiver refused it for good, so it was not tried again. Look at the answer; retry after a fix.";
  }
  if (status === "exhausted") return `It was given up: ${reason ?? "no reason is known"}.`;
  if (status === "skipped" || status === "cancelled")
    return `It was not sent: ${reason ?? "no reason is known"}.`;
  return null;
}

const endings: Readonly<Record<string, string>> = {
  max_attempts_exceeded: "Every attempt failed, so it was given up. Retry it when the receiver works again.",
  expired: "It became too old while it waited, so it was given up.",
  retry_after_beyond_horizon:
    "The receiver asked to wait for longer than an event is kept, so it was given up.",
  payload_unavailable: "Retention removed its payload before it could be sent.",
  internal_compose_failed:
    "Posthorn could not build the request. The fault is not at the receiver: look at the server's log, then retry.",
  empty_data: "Its event has no data, which the profile of this webhook does not take.",
  webhook_deleted: "Its webhook was deleted.",
  cancel_requested: "Somebody cancelled it while it waited.",
  discarded: "It was given up, and somebody discarded it. A retry sends it all the same.",
  webhook_disabled: "Its webhook was disabled when the event was published. Recovering the webhook sends it.",
  webhook_suspended:
    "Its webhook was suspended when the event was published. Recovering the webhook sends it.",
  webhook_unverified: "Its receiver had not permitted deliveries yet.",
};

const categories: Readonly<Record<string, string>> = {
  timeout: "no answer in time",
  server_error: "server error",
  client_error: "refused",
  network: "no connection",
  dns: "name not found",
  ssl: "TLS failed",
  rate_limit: "too many requests",
  payload_too_large: "payload too large",
  redirect: "redirected",
  protocol: "no valid HTTP",
};

export function categoryText(category: string | null): string {
  return category === null ? "" : (categories[category] ?? category);
}

/** How an attempt ended, and as what kind of failure. */
export function outcomeText({ outcome, failure_category }: Attempt): string {
  const category = categoryText(failure_category);
  return category === "" ? outcome : `${outcome}: ${category}`;
}

/** Where the time of an attempt went; empty where that was not kept. */
export function timingsText({ timings_ms: timings }: Attempt): string {
  return Object.entries(timings ?? {})
    .flatMap(([name, ms]) => (ms === null ? [] : [`${name} ${duration(ms)}`]))
    .join(", ");
}

/** The last answer in a cell: its status, or why there was none. */
export function answerText(row: {
  readonly status_code: number | null;
  readonly category: string | null;
}): string {
  if (row.status_code !== null) return String(row.status_code);
  return categoryText(row.category) || "–";
}
