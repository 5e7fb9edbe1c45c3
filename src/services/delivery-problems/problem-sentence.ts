import { STATUS_CODES } from "node:http";
import type { DeliveryProblem } from "../../core/delivery-problems/delivery-problem.ts";
import { isOtherKind, type ProblemKind, problemKindsMax } from "../../core/delivery-problems/problem-kind.ts";
import type { FailureCategory } from "../../core/outcome.ts";
import type { ClassificationTable, StatusRule } from "../../core/profile.ts";
import { statusRule } from "../../core/classify.ts";
import type { LiveWebhook } from "../../engine/endpoint/live-webhook.ts";

/**
 * Describes a problem: what is wrong, where, since when, how many deliveries are affected, what happens automatically,
 * and what a person can do.
 */
export interface ProblemSentences {
  readonly title: string;
  readonly remedy: string;
}

/** `live` is undefined for a webhook that this process does not know. */
export function problemSentences(
  problem: DeliveryProblem,
  live: Pick<LiveWebhook, "webhook" | "policy"> | undefined,
): ProblemSentences {
  const { kind, firstSeenAt, deliveries } = problem;
  const where = live === undefined ? "the receiver" : placeOf(live.webhook.url);
  const many = `${deliveries.toLocaleString("en-GB")} ${deliveries === 1 ? "delivery" : "deliveries"}`;
  const what = `${whatHappened(kind)} from ${where} since ${timeText(firstSeenAt)}, ${many}.`;
  const remedy = `${fateOf(problem, live)} ${remedyOf(kind)}`;
  return { title: `${what} ${remedy}`, remedy };
}

function whatHappened(kind: ProblemKind): string {
  const { category, statusCode, errorCode } = kind;
  if (statusCode !== null) return `${statusCode} ${STATUS_CODES[statusCode] ?? ""}`.trim();
  if (category === null) return "Failures of many kinds";
  return errorCode === null ? unanswered[category] : `${unanswered[category]} (${errorCode})`;
}

/** What the profile of the webhook does with the delivery. */
function fateOf(problem: DeliveryProblem, live: Pick<LiveWebhook, "policy"> | undefined): string {
  if (isOtherKind(problem.kind)) return `Further kinds beyond the first ${problemKindsMax} are grouped here.`;
  const rule = live === undefined ? undefined : ruleOf(live.policy.classification, problem.kind);
  const outcome = problem.outcome === "terminal" ? "terminal" : (rule?.outcome ?? problem.outcome);
  if (outcome !== "terminal") return "Retried according to the webhook's schedule.";
  return problem.kind.category === "client_error"
    ? "Not retried: the receiver refuses the payload."
    : "Not retried: the failure ends the delivery.";
}

function ruleOf(table: ClassificationTable, { statusCode, category }: ProblemKind): StatusRule | undefined {
  if (statusCode !== null) return statusRule(table, statusCode);
  return table.failures[category as keyof ClassificationTable["failures"]];
}

function remedyOf({ category, statusCode }: ProblemKind): string {
  const byStatus = statusCode === null ? undefined : statusRemedies[statusCode];
  if (category === null) return "Check its failed deliveries.";
  return byStatus ?? remedies[category];
}

const retryAfterFix = "then retry.";
const remedies: Readonly<Record<FailureCategory, string>> = {
  timeout: "The receiver should respond at once and process the message afterwards; or increase timeout_ms.",
  server_error: "Check the receiver's log; waiting deliveries are sent once it responds with 2xx.",
  client_error: `Check the response and fix the cause, ${retryAfterFix}`,
  network: "Check that the receiver is running and that firewalls allow requests from Posthorn.",
  dns: "Check the host name in the URL and its DNS records.",
  ssl: "Check the receiver's certificate: its names, its expiry, and the chain up to its issuer.",
  rate_limit: "Set a rate limit for the webhook that the receiver can handle.",
  payload_too_large: "Raise the limit of the receiver, or publish less data with each event.",
  redirect: "Redirects are not followed: change the webhook's URL to the new address.",
  protocol: "Check port and scheme of the URL: the server there does not respond with valid HTTP.",
};

const credentials = `Check that the webhook's secret and credentials match the receiver's, ${retryAfterFix}`;
const elsewhere = `There is nothing at this URL: check its path, ${retryAfterFix}`;
const statusRemedies: Readonly<Record<number, string>> = {
  401: credentials,
  403: credentials,
  404: elsewhere,
  405: "The receiver does not accept POST at this URL: check its path.",
  410: "The receiver is permanently gone: change the URL, or delete the webhook.",
};

const unanswered: Readonly<Record<FailureCategory, string>> = {
  timeout: "No response in time",
  server_error: "Server errors",
  client_error: "Refusals",
  network: "No connection, or one that was interrupted,",
  dns: "A host name that does not resolve,",
  ssl: "A failed TLS handshake",
  rate_limit: "Too many requests",
  payload_too_large: "Payloads too large",
  redirect: "Redirects",
  protocol: "A response that is not HTTP",
};

/** Leaves out the query, which may contain secrets. */
function placeOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? "the receiver" : `${parsed.origin}${parsed.pathname}`;
}

function timeText(at: number): string {
  const [day = "", time = ""] = new Date(at).toISOString().split("T");
  return `${day} ${time.slice(0, 5)} UTC`;
}
