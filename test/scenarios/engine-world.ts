/**
 * A real engine on a real SQLite file, with the real transport, for scenarios about what is sent when. No API in
 * front: webhooks are put in directly.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open.ts";
import { systemClock } from "../../src/adapters/system/clock.ts";
import { createSystemRandom } from "../../src/adapters/system/random.ts";
import { createHttpTransport } from "../../src/adapters/transport/http/http-transport.ts";
import { createAddressPolicy } from "../../src/core/egress/address-policy.ts";
import { generateSymmetricSecret } from "../../src/core/signing/signing-key.ts";
import { type Webhook, webhookDefaults } from "../../src/core/webhook.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineLimits } from "../../src/engine/engine-options.ts";
import type { PublishInput } from "../../src/engine/services.ts";
import type { SecretBox } from "../../src/ports/secret-box.ts";
import type { Store } from "../../src/ports/store.ts";
import type { Metrics, Telemetry } from "../../src/ports/telemetry.ts";

export interface EngineWorld {
  readonly engine: Engine;
  readonly store: Store;
  addWebhook(
    webhook: Partial<Webhook> & { readonly url: string; readonly events: readonly string[] },
  ): Promise<Webhook>;
  publish(tenantId: string, input: PublishInput): Promise<string>;
  publishMany(tenantId: string, inputs: readonly PublishInput[]): Promise<void>;
  /** Closes the engine and opens it again on the same data; `delivers: false` collects a backlog. */
  reopen(options?: WorldOptions): Promise<void>;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly delivers?: boolean;
  readonly limits?: Partial<EngineLimits>;
}

const plainBox: SecretBox = {
  seal: ({ plaintext }) => Buffer.from(plaintext),
  open: ({ ciphertext }) => Buffer.from(ciphertext).toString(),
  digest: (plaintext) => plaintext,
};

const nothing = (): void => {};
const metrics: Metrics = {
  attemptSettled: nothing,
  circuitMoved: nothing,
  rateLimited: nothing,
  largePayload: nothing,
  eventPublished: nothing,
  commitWritten: nothing,
};
const telemetry: Telemetry = {
  log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
  metrics,
};

export async function openEngineWorld(options: WorldOptions = {}): Promise<EngineWorld> {
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-scenario-"));
  const random = createSystemRandom();
  let running = await open(dataDir, options);

  return {
    get engine() {
      return running.engine;
    },
    get store() {
      return running.store;
    },
    async addWebhook(given) {
      const webhook = webhookWithDefaults(given, running.engine.nextId());
      const secret = {
        kind: "symmetric" as const,
        ciphertext: Buffer.from(generateSymmetricSecret((count) => random.bytes(count))),
        digest: webhook.id,
        createdAt: Date.now(),
        expiresAt: null,
      };
      await running.store.webhooks.save(webhook);
      await running.store.webhooks.saveSecrets({ webhookId: webhook.id, secrets: [secret] });
      running.engine.applyWebhook({ webhook, secrets: [secret] });
      return webhook;
    },
    async publish(tenantId, input) {
      return (await running.engine.publish({ tenantId }, input)).id;
    },
    async publishMany(tenantId, inputs) {
      for (let from = 0; from < inputs.length; from += 1_000) {
        await running.engine.publishMany({ tenantId }, inputs.slice(from, from + 1_000));
      }
    },
    async reopen(again = {}) {
      await shut(running);
      running = await open(dataDir, again);
    },
    async close() {
      await shut(running);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

interface Running {
  readonly engine: Engine;
  readonly store: Store;
}

async function open(dataDir: string, options: WorldOptions): Promise<Running> {
  const store = await openSqliteStore({ dataDir, now: Date.now(), pid: process.pid });
  const engine = new Engine({
    store,
    transport: createHttpTransport({
      addressPolicy: createAddressPolicy({ allow: [], allowLoopback: true }),
      clock: systemClock,
      socketsMax: 500,
      idleSocketMs: 4_000,
    }),
    secretBox: plainBox,
    clock: systemClock,
    random: createSystemRandom(),
    telemetry,
    delivers: options.delivers ?? true,
    userAgent: "Posthorn/test",
    requestOrigin: "posthorn.test",
    urlRules: { policy: createAddressPolicy({ allow: [], allowLoopback: true }), allowHttp: true },
    limits: { ...defaultLimits, ...options.limits },
    retention: { payloadMs: 30 * dayMs, historyMs: 90 * dayMs },
    tenantExists: () => true,
    schemaProblems: () => [],
  });
  await engine.start();
  return { engine, store };
}

async function shut(running: Running): Promise<void> {
  await running.engine.stop({ graceMs: 2_000 });
  await running.store.close();
}

function webhookWithDefaults(
  given: Partial<Webhook> & { readonly url: string; readonly events: readonly string[] },
  id: string,
): Webhook {
  const now = Date.now();
  return {
    id,
    tenantId: "default",
    ownerId: null,
    description: "",
    status: "active",
    statusReason: null,
    statusChangedAt: now,
    profile: "standard",
    schemes: ["v1"],
    ...webhookDefaults,
    retry: { schedule: null, ageMsMax: null, timeoutMs: null, timeoutGrowthFactor: null },
    circuitBreaker: {},
    rateLimit: null,
    ordering: "none",
    headers: {},
    metadata: {},
    createdAt: now,
    updatedAt: now,
    ...given,
  };
}

const dayMs = 86_400_000;
const defaultLimits: EngineLimits = {
  concurrency: 100,
  webhookConcurrency: 5,
  payloadBytesMax: 262_144,
  commitWindowMs: 20,
  commitWritesMax: 1_024,
  bufferBytesMax: 64 * 1024 * 1024,
  leaseMs: 300_000,
};
