/** Webhooks of the engine stand-in: validated like real ones, and stored in a map. */
import { randomBytes, randomUUID } from "node:crypto";
import {
  type CircuitBreakerState,
  createCircuit,
  forceClose,
  forceOpen,
  resetCircuit,
  snapshotCircuit,
} from "../../../src/domain/circuit-breaker.ts";
import { resolvePolicy } from "../../../src/domain/delivery-policy.ts";
import { createAddressPolicy } from "../../../src/domain/egress/address-policy.ts";
import { InvalidRequestError, NotFoundError, PosthornError } from "../../../src/domain/errors.ts";
import { findProfile } from "../../../src/domain/profiles/index.ts";
import { parseSecret } from "../../../src/domain/signing/signing-key.ts";
import { pauseAt, type Webhook } from "../../../src/domain/webhook.ts";
import { ProblemList } from "../../../src/features/input.ts";
import type { Scope, WebhookInput, WebhookView } from "../../../src/features/services.ts";
import { certificateView } from "../../../src/features/webhooks/webhook-credentials.ts";
import { blankWebhook, mergeWebhook } from "../../../src/features/webhooks/webhook-input.ts";
import type { StandInTenants } from "./registry.fixture.ts";

export interface StandInWebhook {
  webhook: Webhook;
  secret: string;
  previous: { secret: string; expiresAt: number } | null;
  /** The credentials of the webhook. Later values replace earlier ones. */
  credentials: Pick<WebhookInput, "bearerToken" | "credentialHeaders" | "clientCertificate">;
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

const policy = createAddressPolicy([], false);

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
      const blank = blankWebhook(randomUUID(), tenantId, now());
      const webhook = merge(blank, { input, credentials: {}, now: now() });
      const secret = newSecret(input.secret ?? null);
      const entry = {
        webhook,
        secret,
        previous: null,
        credentials: credentialsOf(input),
        circuit: createCircuit(now()),
      };
      webhooks.set(webhook.id, entry);
      return entry;
    },
    update: (entry, input) => {
      entry.webhook = merge(entry.webhook, { input, credentials: entry.credentials, now: now() });
      entry.credentials = { ...entry.credentials, ...credentialsOf(input) };
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

function credentialsOf(input: WebhookInput): StandInWebhook["credentials"] {
  const { bearerToken, credentialHeaders, clientCertificate } = input;
  const given = { bearerToken, credentialHeaders, clientCertificate };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function merge(
  before: Webhook,
  change: {
    readonly input: WebhookInput;
    readonly credentials: StandInWebhook["credentials"];
    readonly now: number;
  },
): Webhook {
  const { input, credentials, now } = change;
  const problems = new ProblemList();
  const merged = mergeWebhook(before, input, {
    urlRules: { policy, allowHttp: false },
    now,
    problems,
    held: {
      bearerToken: (credentials.bearerToken ?? null) !== null,
      clientCertificate: (credentials.clientCertificate ?? null) !== null,
      credentialHeaderNames: Object.keys(credentials.credentialHeaders ?? {}),
    },
  });
  problems.throwIfAny("the webhook");
  return merged;
}

function viewOf(entry: StandInWebhook, now: number): WebhookView {
  const profile = findProfile(entry.webhook.profile);
  if (profile === undefined) throw new Error("unknown profile");
  const resolved = resolvePolicy(entry.webhook, profile);
  return {
    webhook: entry.webhook,
    policy: resolved,
    health: "healthy",
    pause: pauseAt(entry.webhook, now),
    lastSuccessAt: null,
    lastFailedAt: null,
    hasBearerToken: (entry.credentials.bearerToken ?? null) !== null,
    credentialHeaderNames: Object.keys(entry.credentials.credentialHeaders ?? {}),
    clientCertificate:
      (entry.credentials.clientCertificate ?? null) === null
        ? null
        : certificateView(entry.credentials.clientCertificate?.certificatePem ?? "", now),
    dnsRecord: entry.webhook.verification.method === "dns" ? { name: "_x.example.com", value: "x" } : null,
    secretHint: `whsec_…${entry.secret.slice(-4)}`,
    forcedOpenUntil: snapshotCircuit(entry.circuit, resolved.circuitBreaker, now).forcedOpenUntil,
  };
}
