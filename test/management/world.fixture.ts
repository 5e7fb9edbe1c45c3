/**
 * The management functions as in production: the real engine on a SQLite file or on the given store, with real
 * encryption. Only the network is scripted. Each URL responds with the status that the test sets, and requests are
 * recorded.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { GaugeSampler, ProcessGauges } from "../../src/app/gauges.ts";
import { createAddressPolicy } from "../../src/domain/egress/address-policy.ts";
import { Engine } from "../../src/engine/engine.ts";
import { createServices, type ManagedServices } from "../../src/features/create-services.ts";
import { SchemaRegistry } from "../../src/features/event-types/schema-registry.ts";
import {
  createNotifications,
  type NotificationMeans,
  type NotificationServices,
} from "../../src/features/notifications/create-notifications.ts";
import type { PublishInput, Scope, WebhookInput, WebhookView } from "../../src/features/services.ts";
import { hashApiKey } from "../../src/features/tenants/api-key-service.ts";
import { loadTenantDirectory } from "../../src/features/tenants/tenant-service.ts";
import type { Clock, Timer } from "../../src/ports/clock.ts";
import type { NameLookup } from "../../src/ports/name-lookup.ts";
import type { Store } from "../../src/ports/store.ts";
import type { Logger } from "../../src/ports/telemetry.ts";
import {
  noResponseFields,
  type OutboundRequest,
  type Transport,
  type TransportResult,
} from "../../src/ports/transport.ts";
import { createSchemaCompiler } from "../../src/schema/ajv/schema-compiler.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { systemClock } from "../../src/system/clock.ts";
import { createKeyRing, createSecretBox, type KeyRing } from "../../src/system/keys/secret-box.ts";
import { createSystemRandom } from "../../src/system/random.ts";
import { waitMsMax } from "../scenarios/eventually.fixture.ts";
import { engineLimits, retention, silentMetrics } from "../services/engine-parts.fixture.ts";

export const admin: Scope = { tenantId: null };
export const adminKey = "the-admin-key-of-this-test";

export interface World {
  readonly dataDir: string;
  readonly services: ManagedServices;
  readonly engine: Engine;
  readonly store: Store;
  readonly requests: OutboundRequest[];
  /** All log entries, as JSON lines. */
  readonly log: string[];
  /** Response status by path; the default is 200. */
  readonly statuses: Map<string, number>;
  /** Other parts of the response (besides the status), by path. */
  readonly answers: Map<string, Answerer>;
  /** DNS TXT records by name. */
  readonly texts: Map<string, readonly string[] | "failed">;
  now(): number;
  /** Sets the wall clock forward or back. */
  skipTime(ms: number): void;
  /** Reads this process's gauges, and writes them when a minute has ended. A server does this four times a minute. */
  sample(): Promise<void>;
  /** Ends the activity of this process, as stopping a server would. */
  close(): Promise<void>;
  /** Ends the activity of this process, and reopens it on the same data. */
  restart(): Promise<void>;
  createWebhook(input?: WebhookInput): Promise<WebhookView>;
  publish(input?: Partial<PublishInput>): Promise<string>;
  /** Creates senders of notifications. The test starts their rounds. */
  notifications(means: Partial<NotificationMeans>): NotificationServices;
  /** Calls the check repeatedly until it returns a value. */
  until<Found>(
    check: () => Promise<Found | null | undefined | false> | Found | null | undefined | false,
  ): Promise<Found>;
}

export type Answerer = (
  request: OutboundRequest,
) => Partial<TransportResult> | Promise<Partial<TransportResult>>;

export async function openWorld(
  t: TestContext,
  options: {
    readonly webhooksPerTenantMax?: number;
    readonly publicUrl?: string | null;
    readonly watched?: Parameters<typeof createServices>[0]["watched"];
    /** Whether notification rounds are started. */
    readonly schedules?: boolean;
    /** Used instead of a SQLite file. Several worlds may share it if they have the same keys. */
    readonly openStore?: (now: number) => Promise<Store>;
    readonly keys?: WorldKeys;
    readonly limits?: Partial<typeof engineLimits>;
    readonly countsStatistics?: boolean;
  } = {},
): Promise<World> {
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-management-"));
  const random = createSystemRandom();
  const box = options.keys ?? newWorldKeys();
  const requests: OutboundRequest[] = [];
  const log: string[] = [];
  const statuses = new Map<string, number>();
  const answers: World["answers"] = new Map();
  const texts: World["texts"] = new Map();
  let skippedMs = 0;
  const clock: Clock = { ...systemClock, now: () => Date.now() + skippedMs };

  const open = async () => {
    const store = await (options.openStore?.(clock.now()) ??
      openSqliteStore({ dataDir, now: clock.now(), pid: process.pid }));
    const secretBox = createSecretBox(box.ring, box.digestKey);
    const schemaCompiler = createSchemaCompiler();
    const telemetry = { log: recordingLogger(log), metrics: silentMetrics };
    const tenants = await loadTenantDirectory(store.registry, clock);
    const schemas = new SchemaRegistry(store.registry, schemaCompiler);
    const urlRules = { policy: createAddressPolicy([], false), allowHttp: false };
    const transport = fakeTransport({ requests, statuses, answers });
    const { countsStatistics = true } = options;
    const engine = new Engine({
      store,
      countsStatistics,
      transport,
      secretBox,
      clock,
      random,
      telemetry,
      delivers: true,
      userAgent: "Posthorn/test",
      requestOrigin: "posthorn.test",
      urlRules,
      limits: { ...engineLimits, ...options.limits },
      retention,
      tenantExists: (id) => tenants.has(id),
      schemas,
    });
    const services = createServices({
      access: engine,
      publisher: engine.publisher,
      store,
      countsStatistics,
      secretBox,
      schemaCompiler,
      clock,
      random,
      telemetry,
      tenants,
      schemas,
      urlRules,
      adminKeyHash: hashApiKey(adminKey),
      schedules: options.schedules ?? true,
      ...(options.watched !== undefined && { watched: options.watched }),
      limits: { webhooksPerTenantMax: options.webhooksPerTenantMax ?? 1_000 },
      verification: {
        transport,
        names: fakeNames(texts),
        userAgent: "Posthorn/test",
        requestOrigin: "posthorn.test",
        publicUrl: options.publicUrl === undefined ? "https://hooks.posthorn.test" : options.publicUrl,
      },
    });
    await engine.start();
    await services.lifecycle.start();
    const verification = { transport, userAgent: "Posthorn/test" };
    const parts = { access: engine, store, secretBox, clock, random, telemetry, urlRules, verification };
    const gauges = new ProcessGauges({ engine, store, delivers: true });
    const rounds: (() => void)[] = [];
    const sampler = new GaugeSampler({
      store: store.statistics,
      random,
      log: telemetry.log,
      read: () => gauges.read(),
      clock: { ...clock, schedule: (_, run) => noted(rounds, run) },
    });
    sampler.start();
    return { store, engine, services, parts, gauges, sampler, rounds };
  };
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    running.sampler.stop();
    running.gauges.stop();
    await running.services.lifecycle.stop();
    await running.engine.stop(1_000);
    await running.store.close();
  };

  let running = await open();
  t.after(async () => {
    await close();
    rmSync(dataDir, { recursive: true });
  });
  return {
    dataDir,
    get services() {
      return running.services;
    },
    get engine() {
      return running.engine;
    },
    get store() {
      return running.store;
    },
    requests,
    log,
    statuses,
    answers,
    texts,
    now: () => clock.now(),
    skipTime: (ms) => void (skippedMs += ms),
    async sample() {
      const due = running.rounds.splice(0);
      for (const run of due) run();
      for (const { rounds } = running; rounds.length === 0; ) await new Promise(setImmediate);
    },
    close,
    async restart() {
      await close();
      running = await open();
      isClosed = false;
    },
    notifications(given) {
      const { webhooks, tenants } = running.services;
      const means = { mailer: null, overrides: {}, linkTemplate: null, publicUrl: null, ...given };
      return createNotifications({ ...running.parts, webhooks, tenants, means, schedules: false });
    },
    async createWebhook(input = {}) {
      const given = { url: "https://example.com/hook", events: ["*"], ...input };
      return (await running.services.webhooks.create(admin, given)).view;
    },
    async publish(input = {}) {
      return (
        await running.engine.publisher.publish(admin, {
          eventType: "order.created",
          data: { id: 1 },
          ...input,
        })
      ).id;
    },
    async until(check) {
      for (const deadline = performance.now() + waitMsMax; performance.now() < deadline; ) {
        const found = await check();
        if (found !== null && found !== undefined && found !== false) return found;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      throw new Error(`it did not happen within ${waitMsMax} ms`);
    },
  };
}

/** The keys with which the processes of a deployment decrypt each other's secrets. */
export interface WorldKeys {
  readonly ring: KeyRing;
  readonly digestKey: Uint8Array;
}

export function newWorldKeys(): WorldKeys {
  const random = createSystemRandom();
  return {
    ring: createKeyRing(random.bytes(32), [], random),
    digestKey: random.bytes(32),
  };
}

/** A timer that fires when the test decides. */
function noted(rounds: (() => void)[], run: () => void): Timer {
  rounds.push(run);
  return { cancel: () => undefined };
}

function fakeTransport({
  requests,
  statuses,
  answers,
}: Pick<World, "requests" | "statuses" | "answers">): Transport {
  return {
    async send(request) {
      requests.push(request);
      const status = statuses.get(request.path) ?? 200;
      await new Promise((resolve) => setImmediate(resolve));
      return {
        observation: { kind: "response", status, complete: true },
        responseSample: null,
        fields: noResponseFields,
        errorMessage: null,
        durationMs: 1,
        ...(await answers.get(request.path)?.(request)),
      };
    },
    openSockets: () => 0,
    close: async () => undefined,
  };
}

function fakeNames(texts: World["texts"]): NameLookup {
  return {
    async texts(name) {
      const found = texts.get(name);
      if (found === "failed") return { kind: "failed", detail: "the name servers did not respond" };
      return found === undefined ? { kind: "absent" } : { kind: "found", texts: found };
    },
    close: () => undefined,
  };
}

function recordingLogger(lines: string[]): Logger {
  const record: Logger["info"] = (fields, message) => void lines.push(JSON.stringify({ ...fields, message }));
  return { debug: record, info: record, warn: record, error: record };
}
