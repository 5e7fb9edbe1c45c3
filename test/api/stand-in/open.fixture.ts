import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from "node:crypto";
import { sourceTypes } from "../../../src/app/listeners.ts";
import { profiles } from "../../../src/domain/profiles/index.ts";
import { type Api, type ApiOptions, createApi } from "../../../src/http/server.ts";
import { Sessions } from "../../../src/http/dashboard-sessions.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import { type SecretBox, SecretUnreadableError } from "../../../src/ports/secret-box.ts";
import type { OpenedApi } from "../../scenarios/api/client.fixture.ts";
import type { Store } from "../../../src/ports/store.ts";
import { createStandInGateway } from "./gateway.fixture.ts";
import { StandInIdempotencyStore } from "./idempotency-store.fixture.ts";
import { createStandInServices } from "./services.fixture.ts";

export interface StandIn extends OpenedApi {
  readonly api: Api;
  readonly options: ApiOptions;
  readonly answers: StandInIdempotencyStore;
  /** Messages that were logged as errors. */
  readonly errors: string[];
}

const payloadBytesMax = 262_144;

/** The API with an in-memory engine. `change` replaces parts of the engine. */
export async function openStandIn(
  change: (options: ApiOptions) => Partial<ApiOptions> = () => ({}),
): Promise<StandIn> {
  const adminKey = `phk_${randomBytes(24).toString("hex")}`;
  const answers = new StandInIdempotencyStore();
  const errors: string[] = [];
  const services = createStandInServices({ adminKey, payloadBytesMax, now: clock.now });
  const secretBox = createBox();
  const nothing = (): void => undefined;
  const options: ApiOptions = {
    services,
    gateway: createStandInGateway({
      services,
      secretBox,
      clock,
      nextId: () => randomUUID(),
      random: { bytes: (count) => randomBytes(count) },
      telemetry: {
        log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
        metrics: {} as never,
      },
    }),
    takesInbound: true,
    store: { idempotency: answers } as unknown as Store,
    secretBox,
    clock,
    random: { bytes: (count) => randomBytes(count) },
    log: {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: (fields, message) => errors.push(`${message} ${JSON.stringify(fields)}`),
    },
    metrics: { apiCallLimited: () => {} },
    limits: { payloadBytesMax, connectionsMax: 1_000 },
    callRates: {
      keyCallsPerMinute: 0,
      tenantCallsPerMinute: 0,
      keyPublishesPerMinute: 0,
      tenantPublishesPerMinute: 0,
    },
    readiness: () => ({ ready: true, reasons: [], details: [] }),
    system: async () => ({
      warnings: [],
      roles: ["api"],
      startedAt: clock.now(),
      pools: new Map([["default", 1]]),
      store: { kind: "sqlite", facts: { schemaVersion: 1, sizeBytes: 65_536 } },
      queue: { kind: "store", isAvailable: true },
      sharedState: { kind: "process", isAvailable: true },
      retention: { payloadDays: 1, historyDays: 1, auditDays: 1 },
      settings: [{ name: "POSTHORN_ADMIN_KEY", value: "********", source: null }],
    }),
    metricsText: async () => "# HELP up 1\nup 1\n",
    profiles,
    sourceTypes,
    cursorKey: randomBytes(32),
    dev: false,
    version: "0.0.0",
  };
  const { random } = options;
  const sessions = new Sessions({ secretBox, apiKeys: services.apiKeys, clock, random });
  const dashboard = { sessions, version: "0.0.0", files: async () => new Map() };
  const changed = { ...options, dashboard, ...change(options) };
  const api = await createApi(changed);
  const { url } = await api.listen("127.0.0.1", 0);
  return { baseUrl: url, adminKey, close: () => api.close(1_000), api, options: changed, answers, errors };
}

const clock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  schedule: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
  defer: (callback) => void setImmediate(callback),
};

function createBox(): SecretBox {
  const key = randomBytes(32);
  return {
    seal: (plaintext, context) => {
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
      return Buffer.concat([nonce, cipher.update(plaintext, "utf8"), cipher.final(), cipher.getAuthTag()]);
    },
    open: (ciphertext, context) => {
      const decipher = createDecipheriv("aes-256-gcm", key, ciphertext.subarray(0, 12)).setAAD(
        Buffer.from(context),
      );
      decipher.setAuthTag(ciphertext.subarray(-16));
      try {
        return decipher.update(ciphertext.subarray(12, -16), undefined, "utf8") + decipher.final("utf8");
      } catch {
        throw new SecretUnreadableError("no key opens it");
      }
    },
    digest: (plaintext) => plaintext,
  };
}
