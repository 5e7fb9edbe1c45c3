/**
 * A real engine with a real SQLite file and the real transport, for scenarios about the order and time of requests. It
 * has no API; webhooks are created directly.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { systemClock } from "../../src/system/clock.ts";
import { createHostNames } from "../../src/system/host-names.ts";
import { createSystemRandom } from "../../src/system/random.ts";
import { createHttpTransport } from "../../src/transport/http/http-transport.ts";
import { createAddressPolicy } from "../../src/domain/egress/address-policy.ts";
import { generateEd25519Key, generateSymmetricSecret } from "../../src/domain/signing/signing-key.ts";
import { webhookAt } from "../../src/domain/webhook.fixture.ts";
import type { Webhook } from "../../src/domain/webhook.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineLimits } from "../../src/engine/engine-options.ts";
import type { PublishInput } from "../../src/features/services.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { SecretBox } from "../../src/ports/secret-box.ts";
import type { Store } from "../../src/ports/store.ts";
import type { SecretKind } from "../../src/ports/store/webhooks.ts";
import type { Logger, Metrics } from "../../src/ports/telemetry.ts";
import type { Transport } from "../../src/ports/transport.ts";
import { engineLimits, retention, silentMetrics } from "../services/engine-parts.fixture.ts";

export interface EngineWorld {
  readonly engine: Engine;
  readonly store: Store;
  /** Log lines with the levels `warn` and `error`. They are kept across restarts. */
  readonly logged: readonly LogLine[];
  /** Sizes of the payloads that were counted as large. */
  readonly largePayloads: readonly number[];
  /** Creates a webhook with keys for every signature scheme and the given credentials. */
  addWebhook(
    webhook: Partial<Webhook> & { readonly url: string; readonly events: readonly string[] },
    credentials?: Partial<Record<SecretKind, string>>,
  ): Promise<Webhook>;
  /** A webhook's key in plain text. */
  secretOf(webhookId: string, kind: SecretKind): string;
  publish(tenantId: string, input: PublishInput): Promise<string>;
  publishMany(tenantId: string, inputs: readonly PublishInput[]): Promise<void>;
  /** Closes the engine and reopens it on the same data; `delivers: false` lets a backlog accumulate. */
  reopen(options?: WorldOptions): Promise<void>;
  close(): Promise<void>;
}

export interface LogLine {
  readonly level: "warn" | "error";
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface WorldOptions {
  readonly delivers?: boolean;
  readonly limits?: Partial<EngineLimits>;
  /** Certificate authority to trust when connecting to receivers with TLS, as PEM. */
  readonly ca?: string;
  /** Creates the transport to use instead of a transport on this thread. */
  readonly transport?: () => Transport;
  /** A clock that the test advances, instead of the system clock. */
  readonly clock?: Clock;
}

const plainBox: SecretBox = {
  seal: (plaintext) => Buffer.from(plaintext),
  open: (ciphertext) => Buffer.from(ciphertext).toString(),
  digest: (plaintext) => plaintext,
};

const nothing = (): void => {};

/** The parts of a world that survive its restart. */
interface Kept {
  readonly dataDir: string;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export async function openEngineWorld(options: WorldOptions = {}): Promise<EngineWorld> {
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-scenario-"));
  const random = createSystemRandom();
  const logged: LogLine[] = [];
  const log: Logger = {
    debug: nothing,
    info: nothing,
    warn: (fields) => void logged.push({ level: "warn", fields }),
    error: (fields) => void logged.push({ level: "error", fields }),
  };
  const largePayloads: number[] = [];
  const metrics = { ...silentMetrics, largePayload: (bytes: number) => void largePayloads.push(bytes) };
  const kept: Kept = { dataDir, log, metrics };
  let running = await open(kept, options);

  return {
    get engine() {
      return running.engine;
    },
    get store() {
      return running.store;
    },
    logged,
    largePayloads,
    async addWebhook(given, credentials = {}) {
      const webhook = webhookAt(Date.now(), { id: running.engine.nextId(), schemes: ["v1"], ...given });
      const bytes = (count: number): Uint8Array => random.bytes(count);
      const texts = {
        symmetric: generateSymmetricSecret(bytes),
        ed25519: generateEd25519Key(bytes).secret,
        ...credentials,
      };
      const secrets = Object.entries(texts).map(([kind, text]) => ({
        kind: kind as SecretKind,
        ciphertext: Buffer.from(text),
        digest: `${webhook.id} ${kind}`,
        createdAt: Date.now(),
        expiresAt: null,
      }));
      await running.store.webhooks.save(webhook, { secrets });
      running.engine.applyWebhook({ webhook, secrets });
      return webhook;
    },
    secretOf(webhookId, kind) {
      const secrets = running.engine.webhook(webhookId)?.secrets ?? [];
      const found = secrets.find((secret) => secret.kind === kind);
      if (found === undefined) throw new Error(`webhook ${webhookId} has no ${kind}`);
      return Buffer.from(found.ciphertext).toString();
    },
    async publish(tenantId, input) {
      return (await running.engine.publisher.publish({ tenantId }, input)).id;
    },
    async publishMany(tenantId, inputs) {
      for (let from = 0; from < inputs.length; from += 1_000) {
        await running.engine.publisher.publishMany({ tenantId }, inputs.slice(from, from + 1_000));
      }
    },
    async reopen(again = {}) {
      await shut(running);
      running = await open(kept, again);
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

async function open({ dataDir, log, metrics }: Kept, options: WorldOptions): Promise<Running> {
  const store = await openSqliteStore({ dataDir, now: Date.now(), pid: process.pid });
  const engine = new Engine({
    store,
    transport: options.transport?.() ?? inThread(options),
    secretBox: plainBox,
    clock: options.clock ?? systemClock,
    random: createSystemRandom(),
    telemetry: { log, metrics },
    delivers: options.delivers ?? true,
    userAgent: "Posthorn/test",
    requestOrigin: "posthorn.test",
    urlRules: { policy: createAddressPolicy([], true), allowHttp: true },
    limits: { ...engineLimits, ...options.limits },
    retention,
    tenantExists: () => true,
    schemas: { prepare: () => null, problems: () => [] },
  });
  await engine.start();
  return { engine, store };
}

function inThread({ ca }: WorldOptions): Transport {
  return createHttpTransport({
    addressPolicy: createAddressPolicy([], true),
    clock: systemClock,
    dns: createHostNames(),
    socketsMax: 500,
    idleSocketMs: 4_000,
    ...(ca === undefined ? {} : { tls: { ca } }),
  });
}

async function shut(running: Running): Promise<void> {
  await running.engine.stop(2_000);
  await running.store.close();
}
