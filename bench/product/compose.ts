import { openSqliteStore } from "../../src/adapters/store/sqlite/open.ts";
import { systemClock } from "../../src/adapters/system/clock.ts";
import { createSystemRandom } from "../../src/adapters/system/random.ts";
import { createKeyRing, createSecretBox } from "../../src/adapters/system/secret-box.ts";
import { createHttpTransport } from "../../src/adapters/transport/http/http-transport.ts";
import { createAddressPolicy } from "../../src/core/egress/address-policy.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineLimits } from "../../src/engine/engine.ts";
import type { SecretBox } from "../../src/ports/secret-box.ts";
import type { Store } from "../../src/ports/store.ts";
import type { AttemptFact, Telemetry } from "../../src/ports/telemetry.ts";
import { userAgent } from "../message.ts";

export interface ProductOptions {
  readonly dataDir: string;
  readonly delivers: boolean;
  readonly onSettled?: (fact: AttemptFact) => void;
}

export interface Product {
  readonly engine: Engine;
  readonly store: Store;
}

/** What a user gets without settings (contract, Settings). */
const limits: EngineLimits = {
  concurrency: 100,
  webhookConcurrency: 5,
  payloadBytesMax: 262_144,
  commitWindowMs: 15,
  commitWritesMax: 2_000,
  bufferBytesMax: 64 * 1024 * 1024,
  leaseMs: 180_000,
};
const dayMs = 86_400_000;
const socketsMax = 200;
const idleSocketMs = 4_000;
const keyBytes = 32;

/** The embedded product, put together from its parts: engine, SQLite store, HTTP transport, real clock. */
export async function openProduct(options: ProductOptions): Promise<Product> {
  const random = createSystemRandom();
  const clock = systemClock;
  const store = await openSqliteStore({ dataDir: options.dataDir, now: clock.now(), pid: process.pid });
  const engine = new Engine({
    store,
    transport: createHttpTransport({
      addressPolicy: createAddressPolicy({ allow: [], allowLoopback: true }),
      clock,
      socketsMax,
      idleSocketMs,
    }),
    secretBox: benchSecretBox(),
    clock,
    random,
    telemetry: telemetry(options.onSettled),
    limits,
    retention: { payloadMs: 30 * dayMs, historyMs: 90 * dayMs },
    delivers: options.delivers,
    userAgent,
    tenantExists: () => true,
    schemaProblems: () => [],
  });
  return { engine, store };
}

/** With fixed keys, so that every process can read the secrets of a folder that another one seeded. */
export function benchSecretBox(): SecretBox {
  return createSecretBox({
    ring: createKeyRing({ current: Buffer.alloc(keyBytes, 3), previous: [], random: createSystemRandom() }),
    digestKey: Buffer.alloc(keyBytes, 4),
  });
}

function telemetry(onSettled: ProductOptions["onSettled"]): Telemetry {
  const say = (fields: object, message: string): void => {
    process.stderr.write(`posthorn: ${message} ${JSON.stringify(fields)}\n`);
  };
  return {
    log: { debug: ignore, info: ignore, warn: ignore, error: say },
    metrics: {
      attemptSettled: onSettled ?? ignore,
      circuitMoved: ignore,
      rateLimited: ignore,
      largePayload: ignore,
      eventPublished: ignore,
      commitWritten: ignore,
    },
  };
}

function ignore(): void {
  // Figures come from the sink and from the database, not from the product's own telling.
}
