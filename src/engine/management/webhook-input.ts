import { judgeUrl, type UrlRules } from "../../core/egress/url-policy.ts";
import { isEventTypePattern } from "../../core/event-type.ts";
import type { CircuitBreakerConfig, RateLimitConfig, SignatureSchemeName } from "../../core/profile.ts";
import { findProfile, profiles } from "../../core/profiles/index.ts";
import { judgeCustomHeaders } from "../../core/request-headers.ts";
import { orderingGuarantees, type Webhook, webhookDefaults } from "../../core/webhook.ts";
import type { WebhookInput } from "../services.ts";
import { isRecord, jsonBytes, type NumberRange, type ProblemList } from "./problem-list.ts";
import { mergeRetry, noRetryOverrides } from "./webhook-retry-input.ts";

const eventsMax = 100;
const descriptionLengthMax = 1_000;
const ownerIdLengthMax = 255;
const metadataBytesMax = 16 * 1024;
/** RFC 6750 token; anything else would not survive the header it travels in. */
const bearerToken = /^[A-Za-z0-9\-._~+/]{1,2000}={0,2}$/;

/** What merging needs to know beside the input. */
export interface MergeContext {
  readonly urlRules: UrlRules;
  readonly now: number;
  readonly problems: ProblemList;
}

/** A webhook before anything was said about it. Its URL and events must still be given. */
export function blankWebhook(identity: {
  readonly id: string;
  readonly tenantId: string;
  readonly now: number;
}): Webhook {
  const { id, tenantId, now } = identity;
  return {
    id,
    tenantId,
    ownerId: null,
    url: "",
    events: [],
    description: "",
    status: "active",
    statusReason: null,
    statusChangedAt: now,
    profile: profiles[0]?.name ?? "standard",
    schemes: null,
    ...webhookDefaults,
    retry: noRetryOverrides,
    circuitBreaker: {},
    rateLimit: null,
    ordering: "none",
    headers: {},
    metadata: {},
    createdAt: now,
    updatedAt: now,
  };
}

/**
 * Merges an input into a webhook (C-33): absent fields keep their value, `null` goes back to the default. Every bad
 * field is reported under its path in the API; the result counts only when there is no problem.
 */
export function mergeWebhook(base: Webhook, input: WebhookInput, context: MergeContext): Webhook {
  const { problems, now } = context;
  checkBearerToken(input.bearerToken, problems);
  return {
    ...base,
    ...mergeStatus(base, { active: input.active, context }),
    url: input.url === undefined ? base.url : readUrl(input.url, context),
    events: input.events === undefined ? base.events : readEvents(input.events, problems),
    description:
      input.description === undefined ? base.description : readDescription(input.description, problems),
    ownerId: input.ownerId === undefined ? base.ownerId : readOwnerId(input.ownerId, problems),
    profile: input.profile === undefined ? base.profile : readProfile(input.profile, problems),
    schemes: input.schemes === undefined ? base.schemes : readSchemes(input.schemes, problems),
    retry: mergeRetry(base.retry, { input, problems }),
    circuitBreaker: mergeCircuitBreaker(base.circuitBreaker, { change: input.circuitBreaker, problems }),
    rateLimit: mergeRateLimit(base.rateLimit, { change: input.rateLimit, problems }),
    ordering:
      input.ordering === undefined
        ? base.ordering
        : (problems.oneOf("ordering_guarantee", { value: input.ordering, allowed: orderingGuarantees }) ??
          base.ordering),
    headers: input.headers === undefined ? base.headers : readHeaders(input.headers, problems),
    metadata: input.metadata === undefined ? base.metadata : readMetadata(input.metadata, problems),
    updatedAt: now,
  };
}

/** The owner's switch. Switching on also ends a suspension. */
export function mergeStatus(
  base: Webhook,
  change: { readonly active: unknown; readonly context: Pick<MergeContext, "now" | "problems"> },
): Pick<Webhook, "status" | "statusReason" | "statusChangedAt"> {
  const { active, context } = change;
  const { status, statusReason, statusChangedAt } = base;
  if (active !== undefined && typeof active !== "boolean") {
    context.problems.add({ field: "active", message: "must be true or false" });
  }
  if (typeof active !== "boolean" || active === (status === "active"))
    return { status, statusReason, statusChangedAt };
  if (active) return { status: "active", statusReason: null, statusChangedAt: context.now };
  return { status: "disabled", statusReason: "owner", statusChangedAt: context.now };
}

/** It is kept beside the webhook, encrypted, and so is not merged here. */
function checkBearerToken(value: unknown, problems: ProblemList): void {
  if (value === undefined || value === null || (typeof value === "string" && bearerToken.test(value))) return;
  const message = "must be a token of letters, digits and -._~+/ (2000 at most)";
  problems.add({ field: "bearer_token", message });
}

function readUrl(value: unknown, { urlRules, problems }: MergeContext): string {
  const judgement = judgeUrl(value, urlRules);
  if (judgement.kind === "ok") return judgement.url;
  problems.add({ field: "url", message: judgement.detail });
  return "";
}

function readEvents(value: unknown, problems: ProblemList): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > eventsMax) {
    problems.add({
      field: "events",
      message: `must list 1 to ${eventsMax} event types; write "*" to receive all`,
    });
    return [];
  }
  const seen = new Set<unknown>();
  const events: string[] = [];
  for (const [index, pattern] of (value as readonly unknown[]).entries()) {
    const field = `events[${index}]`;
    if (typeof pattern !== "string" || !isEventTypePattern(pattern)) {
      problems.add({
        field,
        message: "must be an event type such as user.created, a prefix such as user.*, or *",
      });
    } else if (seen.has(pattern)) problems.add({ field, message: "is listed twice" });
    else events.push(pattern);
    seen.add(pattern);
  }
  return events;
}

function readDescription(value: unknown, problems: ProblemList): string {
  return problems.text("description", { value, lengthMin: 0, lengthMax: descriptionLengthMax }) ?? "";
}

function readOwnerId(value: unknown, problems: ProblemList): string | null {
  return value === null
    ? null
    : problems.text("owner_id", { value, lengthMin: 1, lengthMax: ownerIdLengthMax });
}

function readProfile(value: unknown, problems: ProblemList): string {
  if (typeof value === "string" && findProfile(value) !== undefined) return value;
  problems.add({
    field: "profile",
    message: `must be one of ${profiles.map((profile) => profile.name).join(", ")}`,
  });
  return "";
}

function readSchemes(value: unknown, problems: ProblemList): readonly SignatureSchemeName[] | null {
  if (value === null) return null;
  if (!Array.isArray(value) || value.length === 0 || new Set(value).size !== value.length) {
    problems.add({ field: "signing.schemes", message: "must list v1, v1a, or both" });
    return null;
  }
  return value
    .map((scheme: unknown, index) =>
      problems.oneOf(`signing.schemes[${index}]`, { value: scheme, allowed: schemeNames }),
    )
    .filter((scheme) => scheme !== null);
}

const schemeNames: readonly SignatureSchemeName[] = ["v1", "v1a"];

const breakerRanges: Readonly<Record<string, Omit<NumberRange, "value"> & { readonly path: string }>> = {
  errorThresholdPercentage: { path: "error_threshold_percentage", min: 1, max: 100, whole: false },
  minimumThroughput: { path: "minimum_throughput", min: 1, max: 1_000_000, whole: true },
  windowSizeMs: { path: "window_size_ms", min: 1_000, max: 3_600_000, whole: true },
  sleepWindowMs: { path: "sleep_window_ms", min: 100, max: 86_400_000, whole: true },
  halfOpenMaxCalls: { path: "half_open_max_calls", min: 1, max: 100, whole: true },
};

function mergeCircuitBreaker(
  base: Webhook["circuitBreaker"],
  { change, problems }: { readonly change: unknown; readonly problems: ProblemList },
): Partial<CircuitBreakerConfig> {
  if (change === undefined) return base;
  if (change === null) return {};
  if (!isRecord(change)) {
    problems.add({ field: "circuit_breaker_config", message: "must be an object, or null" });
    return base;
  }
  const merged: Record<string, unknown> = { ...base };
  if (change["enabled"] !== undefined) {
    merged["enabled"] = change["enabled"];
    if (typeof change["enabled"] !== "boolean") {
      problems.add({ field: "circuit_breaker_config.enabled", message: "must be true or false" });
    }
  }
  for (const [name, { path, ...range }] of Object.entries(breakerRanges)) {
    const value = change[name];
    if (value !== undefined)
      merged[name] = problems.number(`circuit_breaker_config.${path}`, { ...range, value });
  }
  return merged;
}

const rateMax = 1_000_000;
/** WDS-60: where only the rate is given. */
const burstDefault = 20;

function mergeRateLimit(
  base: RateLimitConfig | null,
  { change, problems }: { readonly change: unknown; readonly problems: ProblemList },
): RateLimitConfig | null {
  if (change === undefined) return base;
  if (change === null) return null;
  if (!isRecord(change)) {
    problems.add({ field: "rate_limit", message: "must be an object, or null" });
    return base;
  }
  const requestsPerMinute = change["requestsPerMinute"] ?? base?.requestsPerMinute;
  const burst = change["burst"] ?? base?.burst ?? burstDefault;
  const range = { min: 1, max: rateMax, whole: true };
  const limit = {
    requestsPerMinute: problems.number("rate_limit.requests_per_minute", {
      ...range,
      value: requestsPerMinute,
    }),
    burst: problems.number("rate_limit.burst", { ...range, value: burst }),
  };
  return limit.requestsPerMinute === null || limit.burst === null ? null : (limit as RateLimitConfig);
}

function readHeaders(value: unknown, problems: ProblemList): Readonly<Record<string, string>> {
  if (!isRecord(value)) {
    problems.add({ field: "headers", message: "must be an object of names and values" });
    return {};
  }
  for (const { header, detail } of judgeCustomHeaders(value)) {
    problems.add({ field: header === null ? "headers" : `headers.${header}`, message: detail });
  }
  return value as Readonly<Record<string, string>>;
}

function readMetadata(value: unknown, problems: ProblemList): Readonly<Record<string, unknown>> {
  if (isRecord(value) && (jsonBytes(value) ?? Infinity) <= metadataBytesMax) return value;
  problems.add({
    field: "metadata",
    message: `must be an object of at most ${metadataBytesMax} bytes as JSON`,
  });
  return {};
}
