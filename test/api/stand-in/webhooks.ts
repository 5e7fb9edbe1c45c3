import { webhookDefaults } from "../../../src/core/webhook.ts";
/** Webhooks of the stand-in engine: the rules of core, kept in a map. */
import { randomBytes, randomUUID } from "node:crypto";
import {
  createCircuit,
  forceClose,
  forceOpen,
  resetCircuit,
  snapshotCircuit,
} from "../../../src/core/circuit-breaker.ts";
import type { CircuitBreakerState } from "../../../src/core/circuit-breaker.ts";
import { resolvePolicy } from "../../../src/core/delivery-policy.ts";
import { createAddressPolicy } from "../../../src/core/egress/address-policy.ts";
import { judgeUrl } from "../../../src/core/egress/url-policy.ts";
import { InvalidRequestError, NotFoundError, PosthornError } from "../../../src/core/errors.ts";
import type { FieldError } from "../../../src/core/errors.ts";
import { findProfile } from "../../../src/core/profiles/index.ts";
import type { RetrySchedule } from "../../../src/core/profile.ts";
import { judgeCustomHeaders } from "../../../src/core/request-headers.ts";
import { validateSchedule } from "../../../src/core/retry-schedule.ts";
import { parseSecret } from "../../../src/core/signing/signing-key.ts";
import type { Webhook } from "../../../src/core/webhook.ts";
import type { RetryInput, Scope, WebhookInput, WebhookView } from "../../../src/engine/services.ts";
import type { StandInTenants } from "./registry.ts";

export interface StandInWebhook {
  webhook: Webhook;
  secret: string;
  previous: { secret: string; expiresAt: number } | null;
  bearerToken: string | null;
  readonly circuit: CircuitBreakerState;
}

export interface WebhookShelf {
  create(scope: Scope, input: WebhookInput): StandInWebhook;
  update(entry: StandInWebhook, input: WebhookInput): void;
  find(scope: Scope, id: string): StandInWebhook;
  all(): readonly StandInWebhook[];
  remove(id: string): void;
  view(entry: StandInWebhook): WebhookView;
  newSecret(given: string | null): string;
  changeCircuit(
    entry: StandInWebhook,
    action: { readonly kind: string; readonly durationSeconds: number },
  ): void;
}

const policy = createAddressPolicy({ allow: [], allowLoopback: false });

export function createWebhookShelf({
  now,
  tenants,
}: {
  readonly now: () => number;
  readonly tenants: StandInTenants;
}): WebhookShelf {
  const webhooks = new Map<string, StandInWebhook>();
  const newSecret = (given: string | null): string => {
    const secret = given ?? `whsec_${randomBytes(32).toString("base64")}`;
    if (parseSecret(secret).kind === "invalid") {
      throw new InvalidRequestError("not valid", [
        { field: "secret", message: "must be whsec_ and 24 to 64 bytes" },
      ]);
    }
    if ([...webhooks.values()].some((entry) => entry.secret === secret)) {
      throw new PosthornError("secret_in_use", "The secret is already in use.");
    }
    return secret;
  };
  return {
    newSecret,
    create: (scope, input) => {
      const tenantId = input.tenantId ?? scope.tenantId ?? "default";
      if (!tenants.exists(tenantId) || (scope.tenantId ?? tenantId) !== tenantId) {
        throw new InvalidRequestError("not valid", [{ field: "tenant_id", message: "does not exist" }]);
      }
      const webhook = merge({ ...emptyWebhook, id: randomUUID(), tenantId, createdAt: now() }, input, now());
      const secret = newSecret(input.secret ?? null);
      const entry = {
        webhook,
        secret,
        previous: null,
        bearerToken: input.bearerToken ?? null,
        circuit: createCircuit(now()),
      };
      webhooks.set(webhook.id, entry);
      return entry;
    },
    update: (entry, input) => {
      entry.webhook = merge(entry.webhook, input, now());
      if (input.bearerToken !== undefined) entry.bearerToken = input.bearerToken;
    },
    find: (scope, id) => {
      const entry = webhooks.get(id);
      if (entry === undefined || (scope.tenantId ?? entry.webhook.tenantId) !== entry.webhook.tenantId) {
        throw new NotFoundError("this webhook");
      }
      return entry;
    },
    all: () => [...webhooks.values()],
    remove: (id) => void webhooks.delete(id),
    view: (entry) => viewOf(entry, now()),
    changeCircuit: (entry, { kind, durationSeconds }) => {
      const command = { now: now(), untilMs: now() + durationSeconds * 1_000 };
      if (kind === "reset") resetCircuit(entry.circuit, command.now);
      else if (kind === "force_open") forceOpen(entry.circuit, command);
      else forceClose(entry.circuit, command);
    },
  };
}

const emptyWebhook = {
  ownerId: null,
  url: "",
  events: [],
  description: "",
  status: "active" as const,
  statusReason: null,
  statusChangedAt: 0,
  profile: "standard",
  schemes: null,
  ...webhookDefaults,
  retry: { schedule: null, ageMsMax: null, timeoutMs: null, timeoutGrowthFactor: null },
  circuitBreaker: {},
  rateLimit: null,
  ordering: "none" as const,
  headers: {},
  metadata: {},
  createdAt: 0,
  updatedAt: 0,
};

function merge(before: Webhook, input: WebhookInput, now: number): Webhook {
  const schedule = input.retry === undefined ? before.retry.schedule : scheduleOf(input.retry);
  const errors = problemsOf(input, schedule);
  if (errors.length > 0) throw new InvalidRequestError("not valid", errors);
  const { url, ownerId, events, description, profile, schemes, rateLimit, ordering, headers, metadata } =
    input;
  const given = {
    url,
    ownerId,
    events,
    description,
    profile,
    schemes,
    rateLimit,
    ordering,
    headers,
    metadata,
  };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const isActive = input.active ?? before.status === "active";
  return {
    ...before,
    ...(set as Partial<Webhook>),
    circuitBreaker: input.circuitBreaker === undefined ? before.circuitBreaker : (input.circuitBreaker ?? {}),
    status: isActive ? "active" : "disabled",
    statusReason: isActive ? null : "owner",
    retry: {
      schedule,
      ageMsMax: input.retry?.maxAgeMs ?? before.retry.ageMsMax,
      timeoutMs: input.retry?.timeoutMs ?? input.timeoutMs ?? before.retry.timeoutMs,
      timeoutGrowthFactor: input.retry?.timeoutGrowthFactor ?? before.retry.timeoutGrowthFactor,
    },
    updatedAt: now,
  };
}

function problemsOf(input: WebhookInput, schedule: RetrySchedule | null): FieldError[] {
  const errors: FieldError[] = [];
  const url = input.url === undefined ? null : judgeUrl(input.url, { policy, allowHttp: false });
  if (url?.kind === "refused") errors.push({ field: "url", message: url.detail });
  if (input.profile !== undefined && findProfile(input.profile) === undefined) {
    errors.push({ field: "profile", message: "is not a known profile" });
  }
  for (const { header, detail } of judgeCustomHeaders(input.headers ?? {})) {
    errors.push({ field: header === null ? "headers" : `headers.${header}`, message: detail });
  }
  if (schedule === null) return errors;
  return [
    ...errors,
    ...validateSchedule(schedule).map(({ problem }) => ({ field: "retry_config", message: problem })),
  ];
}

function scheduleOf(retry: RetryInput | null): RetrySchedule | null {
  if (retry === null) return null;
  if (retry.scheduleMs !== undefined)
    return { kind: "list", delaysMs: retry.scheduleMs, jitter: { from: 1, to: 1.2 } };
  if (retry.maxAttempts === undefined && retry.baseDelayMs === undefined) return null;
  return {
    kind: "exponential",
    attemptsMax: retry.maxAttempts ?? 5,
    baseDelayMs: retry.baseDelayMs ?? 1_000,
    delayMsMax: retry.maxDelayMs ?? 300_000,
    multiplier: retry.backoffMultiplier ?? 2,
    jitter: { from: 1, to: 1.2 },
  };
}

function viewOf(entry: StandInWebhook, now: number): WebhookView {
  const profile = findProfile(entry.webhook.profile);
  if (profile === undefined) throw new Error("unknown profile");
  const resolved = resolvePolicy(entry.webhook, profile);
  return {
    webhook: entry.webhook,
    policy: resolved,
    lastSuccessAt: null,
    hasBearerToken: entry.bearerToken !== null,
    secretHint: `whsec_…${entry.secret.slice(-4)}`,
    forcedOpenUntil: snapshotCircuit(entry.circuit, resolved.circuitBreaker, now).forcedOpenUntil,
  };
}
