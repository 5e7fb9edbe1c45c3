/** Wording for delivery states, wait reasons, outcomes and attempts. */
import { duration } from "../../shared/format.ts";
import type { Attempt, Delivery } from "../../shared/resources.ts";
import type { Tone } from "../../shared/ui/tone.ts";

type Status = Delivery["status"];

interface StatusWords {
  readonly tone: Tone;
  readonly text: string;
}

const statusWords: Readonly<Record<Status, StatusWords>> = {
  pending: { tone: "new", text: "Waiting" },
  failed: { tone: "wait", text: "Retrying" },
  success: { tone: "good", text: "Accepted" },
  exhausted: { tone: "bad", text: "Dead letter" },
  circuit_blocked: { tone: "held", text: "Held" },
  skipped: { tone: "off", text: "Skipped" },
  cancelled: { tone: "off", text: "Cancelled" },
};

export const statuses = Object.keys(statusWords) as readonly Status[];

export function wordsOf(status: Status): StatusWords {
  return statusWords[status];
}

const waits: Readonly<Record<string, readonly [short: string, sentence: string]>> = {
  schedule: ["next retry", "The last attempt failed. The next retry is scheduled."],
  retry_after: ["Retry-After", "The receiver requested a delay with Retry-After."],
  rate_limit_pause: [
    "pause after 429",
    "The receiver responded with 429 and no Retry-After, so the webhook pauses.",
  ],
  timeout_pause: ["pause after timeout", "The receiver did not respond in time, so the webhook was paused."],
  throttle_pause: [
    "pause after 502 or 504",
    "The receiver's gateway responded with 502 or 504, so the webhook pauses.",
  ],
  failure_pause: ["pause after failure", "A connection ended without a response, so the webhook pauses."],
  rate_limit: [
    "rate limit",
    "The webhook's rate limit is reached. The delivery is sent as soon as the limit allows.",
  ],
  tenant_rate_limit: [
    "tenant rate limit",
    "The tenant's rate limit is reached. The delivery is sent as soon as the limit allows.",
  ],
  circuit_open: [
    "circuit open",
    "Too many requests to this webhook failed. Its circuit is open and nothing is sent.",
  ],
  order: [
    "earlier delivery",
    "This webhook receives events in order, and an earlier delivery is still pending.",
  ],
  inactive: ["webhook not active", "The webhook is not active. Nothing is sent until it is enabled."],
  no_signing_key: [
    "no signing key",
    "The webhook has no signing key, and unsigned messages are never sent. Rotate the secret to create a key.",
  ],
  paused: [
    "paused manually",
    "The webhook was paused manually. Held deliveries are sent when the pause ends.",
  ],
  concurrency: ["concurrency slot", "The webhook's limit of concurrent requests is reached."],
  capacity: [
    "concurrency slot",
    "The process has reached its limit of concurrent requests, or no worker of the tenant's pool is running.",
  ],
  in_flight: ["response", "The request is in flight."],
};

/** What a delivery waits for, in a short form for table cells and as a sentence. */
export function waitingOf(reason: string): { readonly short: string; readonly sentence: string } {
  const [short, sentence] = waits[reason] ?? [reason, `Waiting for: ${reason}.`];
  return { short, sentence };
}

/** Why a finished delivery reached its final state. */
export function endingOf({ status, reason }: Pick<Delivery, "status" | "reason">): string | null {
  if (status === "success") return "The receiver accepted the delivery.";
  const known = endings[reason ?? ""];
  if (known !== undefined) return known;
  if (reason?.startsWith("permanent_") === true) {
    return "The receiver permanently refused the delivery, so it was not retried. Check the response, fix the cause, then retry.";
  }
  if (status === "exhausted") return `Dead letter: ${reason ?? "reason unknown"}.`;
  if (status === "skipped" || status === "cancelled") return `Not sent: ${reason ?? "reason unknown"}.`;
  return null;
}

const endings: Readonly<Record<string, string>> = {
  max_attempts_exceeded: "All attempts failed. Retry the delivery when the receiver works again.",
  expired: "The delivery expired while waiting.",
  retry_after_beyond_horizon: "The receiver requested a delay longer than events are kept.",
  payload_unavailable: "Retention removed the payload before it could be sent.",
  internal_compose_failed:
    "Posthorn could not build the request. The receiver is not at fault. Check the server log, then retry.",
  empty_data: "The event has no data, and the webhook's profile does not allow that.",
  webhook_deleted: "The webhook was deleted.",
  cancel_requested: "The delivery was cancelled while waiting.",
  discarded: "The delivery was a dead letter and was discarded. A retry still sends it.",
  webhook_disabled: "The webhook was disabled when the event was published. Recover the webhook to send it.",
  webhook_suspended:
    "The webhook was suspended when the event was published. Recover the webhook to send it.",
  webhook_unverified: "The receiver had not been verified yet.",
};

const categories: Readonly<Record<string, string>> = {
  timeout: "timed out",
  server_error: "server error",
  client_error: "refused",
  network: "unreachable",
  dns: "name not found",
  ssl: "TLS failed",
  rate_limit: "too many requests",
  payload_too_large: "payload too large",
  redirect: "redirected",
  protocol: "invalid HTTP",
};

export function categoryText(category: string | null): string {
  return category === null ? "" : (categories[category] ?? category);
}

/** Outcome of an attempt, with the failure category. */
export function outcomeText({ outcome, failure_category }: Attempt): string {
  const category = categoryText(failure_category);
  return category === "" ? outcome : `${outcome}: ${category}`;
}

/** Time spent per phase of an attempt. Empty if not stored. */
export function timingsText({ timings_ms: timings }: Attempt): string {
  return Object.entries(timings ?? {})
    .flatMap(([name, ms]) => (ms === null ? [] : [`${name} ${duration(ms)}`]))
    .join(", ");
}

/** Last response for a table cell: the status, or why there was none. */
export function answerText(row: {
  readonly status_code: number | null;
  readonly category: string | null;
}): string {
  if (row.status_code !== null) return String(row.status_code);
  return categoryText(row.category) || "–";
}

/** A field with different values in two attempts. Null if an attempt has no value. */
export interface AttemptDifference {
  readonly name: string;
  readonly one: string | null;
  readonly other: string | null;
}

/**
 * Returns differences in display order, with one entry per response header. A detail that is stored for only one of the
 * attempts does not count as a difference.
 */
export function differencesBetween(one: Attempt, other: Attempt): readonly AttemptDifference[] {
  const withDetails = hasDetails(one) && hasDetails(other);
  const shown = (attempt: Attempt): Texts =>
    new Map([...textsOf(attempt), ...(withDetails ? detailsOf(attempt) : [])]);
  const [ofOne, ofOther] = [shown(one), shown(other)];
  const names = [...new Set([...ofOne.keys(), ...ofOther.keys()])];
  return names
    .map((name) => ({ name, one: ofOne.get(name) ?? null, other: ofOther.get(name) ?? null }))
    .filter((difference) => difference.one !== difference.other);
}

/** Connection, configuration and headers are stored for each attempt that was not accepted, and for some others. */
export function hasDetails({ response_headers: headers }: Attempt): boolean {
  return headers !== null;
}

type Texts = ReadonlyMap<string, string | null>;

function textsOf(attempt: Attempt): Texts {
  const { http_status_code: status, retry_after: retryAfter } = attempt;
  return new Map([
    ["Sent", attempt.executed_at],
    ["Duration", duration(attempt.duration_ms)],
    ["Status", status === null ? "no response" : String(status)],
    ["Outcome", outcomeText(attempt)],
    ["Error", attempt.error_message],
    ["Retry-After", retryAfter?.value ?? null],
    ["Response body", attempt.response_body_sample],
  ]);
}

function detailsOf(attempt: Attempt): Texts {
  const { http_version: version, config_revision: revision } = attempt;
  return new Map([
    ["Connected to", attempt.peer_address],
    ["Protocol", version === null ? null : `HTTP/${version}`],
    ["Timings", timingsText(attempt) || null],
    ["Configuration", revision === null ? null : `revision ${revision}`],
    ...headerTexts(attempt),
  ]);
}

/** Joins the values of repeated headers. */
function headerTexts({ response_headers: headers }: Attempt): readonly (readonly [string, string])[] {
  const byName = Map.groupBy(headers ?? [], ({ name }) => `Header ${name.toLowerCase()}`);
  return [...byName].map(([name, same]) => [name, same.map(({ value }) => value).join(", ")] as const);
}
