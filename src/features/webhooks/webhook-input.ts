import { listJitter } from "../../domain/delivery-policy.ts";
import { judgeUrl, type UrlRules } from "../../domain/egress/url-policy.ts";
import { judgeCredentialHeaders, judgeCustomHeaders } from "../../domain/http/request-headers.ts";
import type { Profile, RetrySchedule } from "../../domain/profile.ts";
import { findProfile, profiles } from "../../domain/profiles/index.ts";
import { validateSchedule } from "../../domain/retry-schedule.ts";
import {
  changedAt,
  type OAuth2Client,
  type Webhook,
  webhookDefaults,
  type WebhookRetryOverrides,
} from "../../domain/webhook.ts";
import { apiPath } from "../../resources/field.ts";
import { retryFields, type RetryInput } from "../../resources/webhook-parts.ts";
import { webhookPlainFields, webhookRules } from "../../resources/webhook.ts";
import { mergeRateLimit, type ProblemList } from "../input.ts";
import type { WebhookInput } from "../services.ts";
import { hasRecords, settled } from "../verification/verification.ts";
import { type HeldCredentials, readClientCertificate } from "./webhook-credentials.ts";
import { mergeVerification } from "./webhook-verification-input.ts";

interface Context {
  /** The credentials that the webhook will have after the change. */
  readonly credentials: HeldCredentials;
  readonly problems: ProblemList;
}

/**
 * Reports fields that are valid individually but cannot be combined. Checks the merged webhook, so that the order in
 * which fields are set does not matter.
 */
function reportContradictions(webhook: Webhook, context: Context): void {
  const url = URL.parse(webhook.url);
  // An invalid URL or profile was already reported; fields that depend on it cannot be checked.
  if (url !== null) reportUrl(webhook, url, context);
  reportAuthorization(webhook, context);
  reportHeaders(webhook, context);
  const profile = findProfile(webhook.profile);
  if (profile !== undefined) reportProfile(webhook, profile, context);
}

function reportUrl(webhook: Webhook, url: URL, { credentials, problems }: Context): void {
  if (url.protocol === "http:") {
    if (webhook.http2) problems.contradiction(["http2", "url"], "HTTP/2 requires an https URL");
    if (credentials.clientCertificate) {
      problems.contradiction(["client_certificate", "url"], "a client certificate requires an https URL");
    }
  }
  if (webhook.bearerTokenIn === "query" && url.searchParams.has("access_token")) {
    const message = "the URL already has an access_token, so the token cannot be added";
    problems.contradiction(["bearer_token_in", "url"], message);
  }
  if (webhook.verification.method === "dns" && !hasRecords(url.hostname)) {
    problems.contradiction(["verification", "url"], "an IP address has no DNS record; use a host name");
  }
}

/** Checks that at most one of the three possible sources sets the `Authorization` header. */
function reportAuthorization({ oauth2, bearerTokenIn }: Webhook, { credentials, problems }: Context): void {
  const isOwnHeader = credentials.credentialHeaderNames.some(
    (name) => name.toLowerCase() === "authorization",
  );
  if (credentials.bearerToken && oauth2 !== null) {
    problems.contradiction(
      ["bearer_token", "oauth2"],
      "bearer_token and oauth2 exclude each other; null removes one",
    );
  }
  if (isOwnHeader && oauth2 !== null) {
    const message = "oauth2 and credential_headers both set Authorization; keep one";
    problems.contradiction(["credential_headers", "oauth2"], message);
  }
  if (isOwnHeader && credentials.bearerToken && bearerTokenIn === "header") {
    const message = "bearer_token and credential_headers both set Authorization; keep one";
    problems.contradiction(["credential_headers", "bearer_token"], message);
  }
  if (bearerTokenIn === "query" && !credentials.bearerToken) {
    problems.contradiction(["bearer_token_in", "bearer_token"], "query requires a bearer_token");
  }
}

function reportHeaders({ headers }: Webhook, { credentials, problems }: Context): void {
  const secret = new Set(credentials.credentialHeaderNames.map((name) => name.toLowerCase()));
  for (const name of Object.keys(headers)) {
    if (!secret.has(name.toLowerCase())) continue;
    problems.contradiction(["headers", "credential_headers"], `both set ${printable(name)}; keep one`);
  }
}

function reportProfile(webhook: Webhook, profile: Profile, { credentials, problems }: Context): void {
  for (const [fields, message] of webhookRules(webhook, profile)) problems.contradiction(fields, message);
  if (!profile.registration.bearerTokenRequired || credentials.bearerToken || webhook.oauth2 !== null) return;
  const message = `the profile ${profile.name} requires a bearer_token, or oauth2 to obtain one`;
  problems.contradiction(["bearer_token", "profile"], message);
}

/**
 * Makes a header name safe for a log line. Names are validated earlier, but error messages contain refused names too.
 */
function printable(name: string): string {
  return name.slice(0, 128).replaceAll(/[^\x21-\x7e]/g, "?");
}

/** Validates the credentials and returns those that the webhook will have. */
function checkCredentials(input: WebhookInput, context: MergeContext): HeldCredentials {
  const { held, problems } = context;
  const { bearerToken: token, clientCertificate, credentialHeaders } = input;
  if (clientCertificate !== undefined && clientCertificate !== null) {
    readClientCertificate(clientCertificate, context.now, context.problems);
  }
  return {
    bearerToken: token === undefined ? held.bearerToken : token !== null,
    clientCertificate: clientCertificate === undefined ? held.clientCertificate : clientCertificate !== null,
    credentialHeaderNames:
      credentialHeaders === undefined
        ? held.credentialHeaderNames
        : readCredentialHeaders(credentialHeaders, problems),
  };
}

/**
 * Credentials belong to the origin for which they were given. Editors of a webhook never see its credentials, and must
 * not be able to have them sent to their own server. If the origin changes, each credential must be given again or
 * removed with null. A client certificate is kept, because its private key is not sent.
 */
function requireCredentialsAnew(
  before: string,
  after: string,
  { input, oauth2, held, problems }: MovedCredentials,
): void {
  const origin = URL.parse(before)?.origin;
  if (origin === undefined || origin === (URL.parse(after)?.origin ?? origin)) return;
  const kept = [
    { field: "bearer_token", isKept: held.bearerToken && input.bearerToken === undefined },
    {
      field: "credential_headers",
      isKept: held.credentialHeaderNames.length > 0 && input.credentialHeaders === undefined,
    },
    { field: "oauth2.client_secret", isKept: oauth2 !== null && input.oauth2?.clientSecret === undefined },
  ];
  for (const { field, isKept } of kept) {
    if (!isKept) continue;
    const parent = field.split(".")[0] ?? field;
    const message = `must be given again for a URL at another origin, or ${parent} removed with null`;
    problems.add({ field, message });
  }
}

interface MovedCredentials {
  readonly input: WebhookInput;
  /** The OAuth 2.0 client that the webhook will have after the change. */
  readonly oauth2: OAuth2Client | null;
  /** The credentials that the webhook had before the change. */
  readonly held: HeldCredentials;
  readonly problems: ProblemList;
}

function readCredentialHeaders(
  value: NonNullable<WebhookInput["credentialHeaders"]> | null,
  problems: ProblemList,
): readonly string[] {
  if (value === null) return [];
  for (const { header, detail } of judgeCredentialHeaders(value)) {
    const field = header === null ? "credential_headers" : `credential_headers.${header}`;
    problems.add({ field, message: detail });
  }
  return Object.keys(value);
}

/**
 * Merges the OAuth 2.0 client. Its secret is required for the first client and for every new token URL. Otherwise, an
 * editor could send a secret that they have never seen to their own server.
 */
function mergeOAuth2(
  base: OAuth2Client | null,
  change: WebhookInput["oauth2"],
  context: MergeContext,
): OAuth2Client | null {
  const { problems } = context;
  if (change === undefined) return base;
  if (change === null) return null;
  const { clientSecret, ...rest } = change;
  const merged = { ...blankClient, ...base, ...rest };
  if (rest.tokenUrl !== undefined) merged.tokenUrl = readTokenUrl(rest.tokenUrl, context);
  else if (merged.tokenUrl === "") required("token_url", problems);
  if (merged.clientId === "") required("client_id", problems);
  if (clientSecret === undefined && merged.tokenUrl !== base?.tokenUrl) {
    const message = "is required, even if only token_url changes";
    problems.add({ field: "oauth2.client_secret", message });
  }
  return merged;
}

const blankClient: OAuth2Client = {
  tokenUrl: "",
  clientId: "",
  scope: null,
  audience: null,
  authentication: "basic",
};

function required(name: string, problems: ProblemList): void {
  problems.add({ field: `oauth2.${name}`, message: "is required" });
}

function readTokenUrl(value: string, { urlRules, problems }: MergeContext): string {
  const judgement = judgeUrl(value, urlRules);
  if (judgement.kind === "ok") return judgement.url;
  problems.add({ field: "oauth2.token_url", message: judgement.detail });
  return "";
}

/** Without overrides, the profile applies. */
const noRetryOverrides: WebhookRetryOverrides = {
  schedule: null,
  ageMsMax: null,
  timeoutMs: null,
  timeoutGrowthFactor: null,
};

/** Defaults of exponential backoff (WDS-46 to WDS-49, WDS-122). */
const exponentialDefaults = {
  kind: "exponential",
  attemptsMax: 5,
  baseDelayMs: 1_000,
  multiplier: 2,
  delayMsMax: 300_000,
  jitter: { from: 0.75, to: 1.25 },
} as const satisfies RetrySchedule;

/** The exponential backoff fields of the input, mapped to their names in a schedule. */
const exponentialFields = {
  maxAttempts: "attemptsMax",
  baseDelayMs: "baseDelayMs",
  maxDelayMs: "delayMsMax",
  backoffMultiplier: "multiplier",
} as const satisfies Partial<Record<keyof RetryInput, string>>;
const exponentialNames = Object.keys(exponentialFields) as readonly (keyof typeof exponentialFields)[];

/** Merges `retry_config` and `timeout_ms` into the current values. `null` resets to the profile. */
function mergeRetry(
  base: WebhookRetryOverrides,
  input: Pick<WebhookInput, "retry" | "timeoutMs">,
  problems: ProblemList,
): WebhookRetryOverrides {
  const { retry, timeoutMs } = input;
  if (typeof timeoutMs === "number" && (retry?.timeoutMs ?? timeoutMs) !== timeoutMs) {
    problems.add({
      field: "timeout_ms",
      message: "contradicts retry_config.timeout_ms; set only one of them",
    });
  }
  const merged = mergeRetryConfig(base, retry, problems);
  return timeoutMs === undefined ? merged : { ...merged, timeoutMs };
}

function mergeRetryConfig(
  base: WebhookRetryOverrides,
  retry: RetryInput | null | undefined,
  problems: ProblemList,
): WebhookRetryOverrides {
  if (retry === undefined) return base;
  if (retry === null) return noRetryOverrides;
  return {
    schedule: mergeSchedule(base.schedule, retry, problems),
    ageMsMax: retry.maxAgeMs ?? base.ageMsMax,
    timeoutMs: retry.timeoutMs ?? base.timeoutMs,
    timeoutGrowthFactor: retry.timeoutGrowthFactor ?? base.timeoutGrowthFactor,
  };
}

/**
 * Merges the schedule. Setting any exponential backoff field selects exponential backoff; `schedule_ms` selects the
 * list.
 */
function mergeSchedule(
  base: RetrySchedule | null,
  retry: RetryInput,
  problems: ProblemList,
): RetrySchedule | null {
  const asked = exponentialNames.filter((name) => retry[name] !== undefined);
  if (retry.scheduleMs !== undefined) {
    const fields = asked.map((name) => `retry_config.${apiPath(name, retryFields[name])}`);
    problems.contradiction(fields, "cannot be combined with retry_config.schedule_ms");
    return checked({ kind: "list", delaysMs: retry.scheduleMs, jitter: listJitter }, problems);
  }
  if (asked.length === 0) return base;
  const start = base?.kind === "exponential" ? base : exponentialDefaults;
  const changes = Object.fromEntries(asked.map((name) => [exponentialFields[name], retry[name]]));
  return checked({ ...start, ...changes }, problems);
}

/** The individual fields are already validated; this validates their total duration. */
function checked(schedule: RetrySchedule, problems: ProblemList): RetrySchedule {
  for (const { problem } of validateSchedule(schedule)) {
    problems.add({ field: "retry_config", message: problem });
  }
  return schedule;
}

/** Data that is needed for merging in addition to the input. */
interface MergeContext {
  readonly urlRules: UrlRules;
  readonly now: number;
  readonly problems: ProblemList;
  /** Credentials that the webhook already has. */
  readonly held: HeldCredentials;
}

/** The defaults of a webhook. Its URL and events must always be given. */
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
 * between fields are validated here, and each problem is reported under its API path. The result is usable only if
 * there are no problems.
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

/** Fields that are stored as given; `null` resets to the default. */
function storedAsGiven(input: WebhookInput): Partial<Webhook> {
  const none: Partial<Webhook> = webhookDefaults;
  const given = plainNames.filter((name) => input[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, input[name] ?? none[name] ?? null]));
}

const plainNames = Object.keys(webhookPlainFields) as readonly (keyof typeof webhookPlainFields)[];

/** Merges an object. Omitted fields keep their values; `null` removes all of them (EDS-9.2-2). */
function mergeObject<Value extends object>(
  base: Value,
  change: Partial<Value> | null | undefined,
  none: Value,
): Value {
  return change === null ? none : { ...base, ...change };
}

/**
 * The status after the owner enabled or disabled the webhook. Enabling also ends a suspension. Verification decides
 * whether the webhook may receive events.
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
