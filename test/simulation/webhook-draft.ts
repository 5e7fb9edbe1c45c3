import type { CircuitBreakerConfig, RateLimitConfig, RetrySchedule } from "../../src/domain/profile.ts";
import { generateEd25519Key, generateSymmetricSecret } from "../../src/domain/signing/signing-key.ts";
import { type Webhook, webhookDefaults } from "../../src/domain/webhook.ts";
import type { StoredSecret } from "../../src/ports/store/webhooks.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { stubSecretBox } from "./stub-secret-box.ts";

export const eventTypes = ["order.created", "order.paid", "user.created"] as const;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export interface WebhookDraft {
  readonly webhook: Webhook;
  readonly secrets: readonly StoredSecret[];
}

export function draftWebhook(
  random: SeededRandom,
  base: { readonly id: string; readonly tenantId: string; readonly now: number },
): WebhookDraft {
  const { id, tenantId, now } = base;
  const webhook: Webhook = {
    id,
    tenantId,
    ownerId: null,
    url: drawUrl(random, { id, now }),
    events: random.pick([["*"], ["order.*"], ["order.created", "posthorn.*"], [...eventTypes]]),
    description: "",
    status: "active",
    statusReason: null,
    statusChangedAt: now,
    profile: "standard",
    schemes: random.chance(0.1) ? ["v1a", "v1"] : ["v1"],
    ...webhookDefaults,
    ...drawBehaviour(random),
    headers: {},
    metadata: {},
    createdAt: now,
    updatedAt: now,
  };
  return { webhook, secrets: draftSecrets(random, webhook) };
}

/**
 * Webhooks share a few hosts. The host is drawn from a separate stream, so that nothing else depends on a webhook's
 * URL.
 */
export function drawUrl(
  random: SeededRandom,
  { id, now }: { readonly id: string; readonly now: number },
): string {
  const host = random
    .fork(`host of ${id} at ${now}`)
    .pick(["one.example", "one.example", "two.example:8443"]);
  return `https://${host}/hooks/${id}`;
}

/** The settings of a webhook that its owner may change at any time. */
export function drawBehaviour(
  random: SeededRandom,
): Pick<Webhook, "retry" | "circuitBreaker" | "rateLimit" | "ordering"> {
  return {
    retry: {
      schedule: drawSchedule(random),
      ageMsMax: random.pick([null, null, 30 * minuteMs, 6 * hourMs]),
      timeoutMs: random.pick([null, 5_000, 15_000]),
      timeoutGrowthFactor: random.pick([null, 2]),
    },
    circuitBreaker: drawBreaker(random),
    rateLimit: drawRate(random),
    ordering: random.pick(["none", "none", "per_event_type", "strict"]),
  };
}

function drawSchedule(random: SeededRandom): RetrySchedule | null {
  const jitter = random.pick([
    { from: 1, to: 1.2 },
    { from: 0, to: 1 },
  ]);
  const kind = random.weighted({ profile: 3, list: 2, exponential: 3 });
  if (kind === "profile") return null;
  if (kind === "list")
    return { kind: "list", delaysMs: [1_000, 5_000, minuteMs, 10 * minuteMs, hourMs], jitter };
  return {
    kind: "exponential",
    attemptsMax: random.int({ min: 1, max: 8 }),
    baseDelayMs: 1_000,
    multiplier: 3,
    delayMsMax: hourMs,
    jitter,
  };
}

function drawBreaker(random: SeededRandom): Partial<CircuitBreakerConfig> {
  return random.pick<Partial<CircuitBreakerConfig>>([
    {},
    {},
    { enabled: false },
    { minimumThroughput: 3, halfOpenMaxCalls: 1 },
    { minimumThroughput: 2, sleepWindowMs: 10 * minuteMs, halfOpenMaxCalls: 5 },
  ]);
}

function drawRate(random: SeededRandom): RateLimitConfig | null {
  return random.pick([
    null,
    null,
    null,
    { requestsPerMinute: 120, burst: 5 },
    { requestsPerMinute: 20, burst: 1 },
  ]);
}

function draftSecrets(random: SeededRandom, { id, schemes, createdAt }: Webhook): StoredSecret[] {
  const symmetric = sealed("symmetric", { plaintext: newSymmetric(random), webhookId: id, now: createdAt });
  if (schemes?.includes("v1a") !== true) return [symmetric];
  const { secret } = generateEd25519Key((count) => random.bytes(count));
  return [symmetric, sealed("ed25519", { plaintext: secret, webhookId: id, now: createdAt })];
}

/**
 * Adds a new symmetric key. The old key stays valid for `overlapMs`, or is removed immediately if `overlapMs` is null.
 */
export function rotateSecrets(
  random: SeededRandom,
  rotation: {
    readonly webhookId: string;
    readonly secrets: readonly StoredSecret[];
    readonly overlapMs: number | null;
    readonly now: number;
  },
): StoredSecret[] {
  const { webhookId, secrets, overlapMs, now } = rotation;
  const fresh = sealed("symmetric", { plaintext: newSymmetric(random), webhookId, now });
  const kept = secrets.flatMap((secret) => {
    if (secret.kind !== "symmetric") return [secret];
    if (overlapMs === null || secret.expiresAt !== null) return [];
    return [{ ...secret, expiresAt: now + overlapMs }];
  });
  return [fresh, ...kept];
}

function newSymmetric(random: SeededRandom): string {
  return generateSymmetricSecret((count) => random.bytes(count));
}

function sealed(
  kind: StoredSecret["kind"],
  secret: { readonly plaintext: string; readonly webhookId: string; readonly now: number },
): StoredSecret {
  const { plaintext, webhookId, now } = secret;
  return {
    kind,
    ciphertext: stubSecretBox.seal(plaintext, webhookId),
    digest: stubSecretBox.digest(plaintext),
    createdAt: now,
    expiresAt: null,
  };
}
