import { judgeUrl, type UrlRules } from "../../core/egress/url-policy.ts";
import { profiles } from "../../core/profiles/index.ts";
import { judgeCustomHeaders } from "../../core/http/request-headers.ts";
import { settled } from "../../core/verification/verification-state.ts";
import { changedAt, type Webhook, webhookDefaults } from "../../core/webhook.ts";
import type { WebhookInput } from "../services.ts";
import { mergeRateLimit } from "../merge-rate-limit.ts";
import type { ProblemList } from "../problem-list.ts";
import { reportContradictions } from "./webhook-contradictions.ts";
import { checkCredentials, mergeOAuth2, requireCredentialsAnew } from "./webhook-credentials-input.ts";
import type { HeldCredentials } from "./webhook-credentials.ts";
import { mergeRetry, noRetryOverrides } from "./webhook-retry-input.ts";
import { mergeVerification } from "./webhook-verification-input.ts";

/** Data that merging needs besides the input. */
export interface MergeContext {
  readonly urlRules: UrlRules;
  readonly now: number;
  readonly problems: ProblemList;
  /** Credentials that the webhook already has. */
  readonly held: HeldCredentials;
}

/** The defaults of a webhook. Its URL and events must still be set. */
export function blankWebhook(id: string, tenantId: string, now: number): Webhook {
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
 * Merges a validated input into a webhook: absent fields keep their value, `null` resets to the default. Relations
 * between fields are validated here, each problem under its API path; the result is usable only without problems.
 */
export function mergeWebhook(base: Webhook, input: WebhookInput, context: MergeContext): Webhook {
  const { problems, now } = context;
  const credentials = checkCredentials(input, context);
  const merged: Webhook = {
    ...base,
    ...storedAsGiven(input),
    ...mergeStatus(base, input.active, now),
    url: input.url === undefined ? base.url : readUrl(input.url, context),
    oauth2: mergeOAuth2(base.oauth2, input.oauth2, context),
    agreements: mergeObject(base.agreements, input.agreements, webhookDefaults.agreements),
    retry: mergeRetry(base.retry, input, problems),
    circuitBreaker: mergeObject(base.circuitBreaker, input.circuitBreaker, {}),
    rateLimit: mergeRateLimit(base.rateLimit, input.rateLimit),
    updatedAt: changedAt(base.updatedAt, now),
  };
  for (const { header, detail } of judgeCustomHeaders(input.headers ?? {})) {
    problems.add({ field: header === null ? "headers" : `headers.${header}`, message: detail });
  }
  requireCredentialsAnew(base.url, merged.url, {
    input,
    oauth2: merged.oauth2,
    held: context.held,
    problems,
  });
  const webhook = { ...merged, verification: mergeVerification(base, merged, input, problems) };
  reportContradictions(webhook, { credentials, problems });
  return settled(webhook, now);
}

const storedNames = [
  "events",
  "description",
  "ownerId",
  "profile",
  "schemes",
  "payloadFormat",
  "bearerTokenIn",
  "http2",
  "migrationHeaders",
  "traceContext",
  "ordering",
  "headers",
  "metadata",
] as const satisfies readonly (keyof WebhookInput & keyof Webhook)[];

/** Fields that are stored as given; `null` resets to the default. */
function storedAsGiven(input: WebhookInput): Partial<Webhook> {
  const none: Partial<Webhook> = { ownerId: null, schemes: null, ...webhookDefaults };
  const given = storedNames.filter((name) => input[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, input[name] ?? none[name]]));
}

/** Omitted members keep their values; `null` removes all of them (EDS-9.2-2). */
function mergeObject<Value extends object>(
  base: Value,
  change: Partial<Value> | null | undefined,
  none: Value,
): Value {
  return change === null ? none : { ...base, ...change };
}

/**
 * Enabling and disabling by the owner. Enabling also ends a suspension; verification decides whether the webhook may be
 * served.
 */
export function mergeStatus(
  base: Webhook,
  active: boolean | undefined,
  now: number,
): Pick<Webhook, "status" | "statusReason" | "statusChangedAt"> {
  const { status, statusReason, statusChangedAt } = base;
  const isOn = status === "active" || status === "unverified";
  if (active === undefined || active === isOn) return { status, statusReason, statusChangedAt };
  if (active) return { status: "active", statusReason: null, statusChangedAt: now };
  return { status: "disabled", statusReason: "owner", statusChangedAt: now };
}

function readUrl(value: string, { urlRules, problems }: MergeContext): string {
  const judgement = judgeUrl(value, urlRules);
  if (judgement.kind === "ok") return judgement.url;
  problems.add({ field: "url", message: judgement.detail });
  return "";
}
