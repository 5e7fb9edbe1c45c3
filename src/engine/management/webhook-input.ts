import { judgeUrl, type UrlRules } from "../../core/egress/url-policy.ts";
import { isEventTypePattern } from "../../core/event-type.ts";
import { profiles } from "../../core/profiles/index.ts";
import { judgeCustomHeaders } from "../../core/request-headers.ts";
import { settled } from "../../core/verification/verification-state.ts";
import { changedAt, orderingGuarantees, type Webhook, webhookDefaults } from "../../core/webhook.ts";
import type { WebhookInput } from "../services.ts";
import { isRecord, jsonBytes, type ProblemList } from "./problem-list.ts";
import { reportContradictions } from "./webhook-contradictions.ts";
import {
  checkCredentials,
  mergeBearerTokenIn,
  mergeOAuth2,
  requireCredentialsAnew,
} from "./webhook-credentials-input.ts";
import type { HeldCredentials } from "./webhook-credentials.ts";
import { mergeAgreements, mergePayloadFormat, mergeSchemes, readProfile } from "./webhook-format-input.ts";
import { mergeCircuitBreaker, mergeRateLimit } from "./webhook-limits-input.ts";
import { mergeRetry, noRetryOverrides } from "./webhook-retry-input.ts";
import { mergeVerification } from "./webhook-verification-input.ts";

const eventsMax = 100;
const descriptionLengthMax = 1_000;
const ownerIdLengthMax = 255;
const metadataBytesMax = 16 * 1024;

/** What merging needs to know beside the input. */
export interface MergeContext {
  readonly urlRules: UrlRules;
  readonly now: number;
  readonly problems: ProblemList;
  /** Credentials that the webhook has already. */
  readonly held: HeldCredentials;
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
  const credentials = checkCredentials(input, context);
  const merged: Webhook = {
    ...base,
    ...mergeStatus(base, { active: input.active, context }),
    ...mergeTarget(base, input, context),
    ...mergeSending(base, input, context),
    description:
      input.description === undefined ? base.description : readDescription(input.description, problems),
    ownerId: input.ownerId === undefined ? base.ownerId : readOwnerId(input.ownerId, problems),
    retry: mergeRetry(base.retry, { input, problems }),
    circuitBreaker: mergeCircuitBreaker(base.circuitBreaker, { change: input.circuitBreaker, problems }),
    rateLimit: mergeRateLimit(base.rateLimit, { change: input.rateLimit, problems }),
    metadata: input.metadata === undefined ? base.metadata : readMetadata(input.metadata, problems),
    updatedAt: changedAt(base, now),
  };
  requireCredentialsAnew(
    { before: base.url, after: merged.url },
    { input, oauth2: merged.oauth2, held: context.held, problems },
  );
  const webhook = { ...merged, verification: mergeVerification(base, { merged, input, problems }) };
  reportContradictions(webhook, { credentials, problems });
  return settled(webhook, now);
}

/** Where events go, and which. */
function mergeTarget(
  base: Webhook,
  input: WebhookInput,
  context: MergeContext,
): Pick<Webhook, "url" | "events" | "ordering" | "http2"> {
  const { problems } = context;
  return {
    url: input.url === undefined ? base.url : readUrl(input.url, context),
    events: input.events === undefined ? base.events : readEvents(input.events, problems),
    ordering:
      input.ordering === undefined
        ? base.ordering
        : (problems.oneOf("ordering_guarantee", { value: input.ordering, allowed: orderingGuarantees }) ??
          base.ordering),
    http2: problems.flag("http2", { value: input.http2, before: base.http2 }),
  };
}

/** What a request looks like. */
function mergeSending(
  base: Webhook,
  input: WebhookInput,
  context: MergeContext,
): Pick<
  Webhook,
  | "profile"
  | "schemes"
  | "payloadFormat"
  | "bearerTokenIn"
  | "oauth2"
  | "migrationHeaders"
  | "agreements"
  | "headers"
> {
  const { problems } = context;
  return {
    profile: input.profile === undefined ? base.profile : readProfile(input.profile, problems),
    schemes: mergeSchemes(base.schemes, { change: input.schemes, problems }),
    payloadFormat: mergePayloadFormat(base.payloadFormat, { change: input.payloadFormat, problems }),
    bearerTokenIn: mergeBearerTokenIn(base.bearerTokenIn, { change: input.bearerTokenIn, problems }),
    oauth2: mergeOAuth2(base.oauth2, { change: input.oauth2, context }),
    migrationHeaders: problems.flag("migration_headers", {
      value: input.migrationHeaders,
      before: base.migrationHeaders,
    }),
    agreements: mergeAgreements(base.agreements, { change: input.agreements, problems }),
    headers: input.headers === undefined ? base.headers : readHeaders(input.headers, problems),
  };
}

/** The owner's switch. Switching on also ends a suspension; whether it may be served yet is for its verification. */
export function mergeStatus(
  base: Webhook,
  change: { readonly active: unknown; readonly context: Pick<MergeContext, "now" | "problems"> },
): Pick<Webhook, "status" | "statusReason" | "statusChangedAt"> {
  const { active, context } = change;
  const { status, statusReason, statusChangedAt } = base;
  if (active !== undefined && typeof active !== "boolean") {
    context.problems.add({ field: "active", message: "must be true or false" });
  }
  const isOn = status === "active" || status === "unverified";
  if (typeof active !== "boolean" || active === isOn) return { status, statusReason, statusChangedAt };
  if (active) return { status: "active", statusReason: null, statusChangedAt: context.now };
  return { status: "disabled", statusReason: "owner", statusChangedAt: context.now };
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
