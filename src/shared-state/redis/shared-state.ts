import { tryParseJson } from "../../domain/json/json-text.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type {
  ConfigNews,
  EndpointMemory,
  PublishMemory,
  SharedLimits,
  SharedState,
} from "../../ports/shared-state.ts";
import type { ConfigChange, StoreChange } from "../../ports/store/changes.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { Calls, type KeyScope, Keys, RedisEndpoints, RedisLimits, RedisPublishes } from "./limits.ts";
import type { RedisClient } from "./client.ts";
import { Connection } from "./connection.ts";
import {
  type Address,
  awayReason,
  clusterError,
  lastingProblem,
  type RedisProblem,
  SharedStateSetupError,
} from "./errors.ts";

interface NewsOptions {
  readonly calls: Calls;
  readonly channel: string;
  /**
   * Identifies this process among the subscribers. It is part of every announcement, so that a process ignores its own.
   */
  readonly self: string;
}

/**
 * Announces configuration changes over publish and subscribe. Processes that are not connected at that moment miss
 * them. After a gap shared-state.ts reports `unknown`, and listeners read everything again. Messages come from outside,
 * so each is validated.
 */
class RedisConfigNews implements ConfigNews {
  readonly carriesWork = false;
  readonly #options: NewsOptions;
  readonly #listeners = new Set<(change: StoreChange) => void>();

  constructor(options: NewsOptions) {
    this.#options = options;
  }

  subscribe(listener: (change: StoreChange) => void): () => void {
    // A new function for each call, so that a listener that subscribes twice can end each subscription separately.
    const entry = (change: StoreChange): void => listener(change);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  async announce(change: ConfigChange): Promise<void> {
    const { calls, channel, self } = this.#options;
    await calls.call((client) => client.publish(channel, JSON.stringify({ from: self, change })));
  }

  /** Called for every message of the channel. Ignores everything except announcements of other processes. */
  heard(payload: string): void {
    const change = announced(payload, this.#options.self);
    if (change !== null) this.notify({ kind: "config", change });
  }

  notify(change: StoreChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  close(): void {
    this.#listeners.clear();
  }
}

function announced(payload: string, self: string): ConfigChange | null {
  const message = tryParseJson(payload);
  if (!isRecord(message) || message["from"] === self || !isRecord(message["change"])) return null;
  const { kind, webhookIds, tenantIds } = message["change"];
  switch (kind) {
    case "tenants":
    case "api_keys":
    case "event_types":
    case "portal":
    case "gateway":
      return { kind };
    case "webhooks":
    case "orders":
      return areTexts(webhookIds) ? { kind, webhookIds } : null;
    case "tenant_keys":
      return areTexts(tenantIds) ? { kind, tenantIds } : null;
    default:
      return null;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** Redis 6.2 added expiry as Unix ms (PXAT). Valkey reports itself as Redis 7.2.4 in this field. */
const versionMin = [6, 2] as const;

/** Throws SharedStateSetupError for a server that is too old, or a cluster that one connection cannot serve. */
async function checkServer(client: RedisClient, at: string): Promise<void> {
  judgeVersion(await told(client.info("server")), at);
  if (!/^cluster_enabled:1\s*$/m.test(await told(client.info("cluster")))) return;
  const [, size = "1"] = /^cluster_size:(\d+)\s*$/m.exec(await told(client.clusterInfo())) ?? [];
  // If the user lacks this permission, the rehearsal detects a cluster, because its keys are in different slots.
  if (size !== "1") throw clusterError(at);
}

/** An unreadable version is accepted: some services hide it. */
export function judgeVersion(info: string, at: string): void {
  const [, version, major, minor] = /^redis_version:((\d+)\.(\d+)\S*)/m.exec(info) ?? [];
  if (version === undefined) return;
  const [majorMin, minorMin] = versionMin;
  if (Number(major) > majorMin || (Number(major) === majorMin && Number(minor) >= minorMin)) return;
  throw new SharedStateSetupError(
    "too_old",
    `the server at ${at} is Redis ${version}, and Posthorn needs Redis 6.2 or Valkey 7.2 or later: upgrade it`,
  );
}

/** Empty if the user lacks the permission; the reply is useful but not required. */
async function told(answer: Promise<string>): Promise<string> {
  try {
    return await answer;
  } catch (error) {
    if (awayReason(error) === "the user lacks permissions") return "";
    throw error;
  }
}

/**
 * Number of keys to try. With two shards, all of them belong to the connected shard in one of 65,000 cases. In that
 * case the first calls fail.
 */
const placesTried = 16;

/** Executes every kind of call once, on keys that expire after a second, to detect missing permissions. */
async function rehearse(client: RedisClient, keys: Keys, clock: Clock): Promise<void> {
  const [limit, endpoint, publish] = [
    keys.rehearsal("limit"),
    keys.rehearsal("endpoint"),
    keys.rehearsal("publish"),
  ];
  const places = Array.from({ length: placesTried }, (_, index) => keys.rehearsal(`place ${index}`));
  await Promise.all([
    ...places.map((key) => client.get(key)),
    client.draw(limit, [1_024, 0, 1]),
    client.giveBack(limit, [1_024, 0, 1]),
    client.note(endpoint, [1_000, 0, "", 1, 1, 1]),
    client.hGetAll(endpoint),
    client.set(publish, "", {
      condition: "NX",
      expiration: { type: "PXAT", value: Math.ceil(clock.now()) + 1_000 },
    }),
    client.get(publish),
    client.publish(keys.config, ""),
    client.ping(),
  ]);
}

interface Parts {
  readonly address: Address;
  readonly newClient: (connectTimeoutMs: number) => RedisClient;
  readonly prefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, "log">;
  readonly callTimeoutMs: number;
}

/** State and counts for metrics. A batch of more than 100 entries counts once for each 100 entries. */
interface SharedStateStatus {
  readonly isAvailable: boolean;
  readonly callsMade: number;
  readonly callsFailed: number;
}

/**
 * Two connections: one for calls, one that receives configuration changes. Only the first decides whether the shared
 * state is available. When the second is restored after a loss, listeners receive `unknown`.
 */
export class RedisSharedState implements SharedState {
  readonly limits: SharedLimits;
  readonly endpoints: EndpointMemory;
  readonly publishes: PublishMemory;
  readonly news: ConfigNews;
  readonly #parts: Parts;
  readonly #keys: Keys;
  readonly #calls: Calls;
  readonly #commands: Connection;
  readonly #listening: Connection;
  readonly #watchers = new Set<(isAvailable: boolean) => void>();
  #closing: Promise<void> | null = null;
  #awaySince = 0;
  #complained: RedisProblem | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { address, clock, telemetry, random } = parts;
    const { at } = address;
    const keys = new Keys(parts.prefix);
    this.#keys = keys;
    this.#commands = new Connection({
      ...parts,
      prepare: async (client) => {
        await checkServer(client, at);
        await rehearse(client, keys, clock);
      },
      lost: (error) => this.#went(error),
      stillLost: (error) => this.#stays(error),
      restored: () => this.#cameBack(),
    });
    this.#calls = new Calls({
      connection: this.#commands,
      clock,
      timeoutMs: parts.callTimeoutMs,
      log: telemetry.log,
    });
    const context = { calls: this.#calls, keys };
    this.limits = new RedisLimits(context.calls, context.keys);
    this.endpoints = new RedisEndpoints(context.calls, context.keys);
    this.publishes = new RedisPublishes(context.calls, context.keys);
    const self = Buffer.from(random.bytes(9)).toString("base64url");
    const news = new RedisConfigNews({ calls: this.#calls, channel: keys.config, self });
    this.news = news;
    this.#listening = new Connection({
      ...parts,
      prepare: async (client) => {
        await client.subscribe(keys.config, (payload) => news.heard(payload));
        await client.ping();
      },
      // The other connection logs a warning. Losing this one only delays changes.
      lost: (error) =>
        telemetry.log.debug({ at, reason: reasonOf(error) }, "the feed of configuration changes was lost"),
      stillLost: () => undefined,
      restored: () => news.notify({ kind: "unknown" }),
    });
  }

  /** Restricts the state to one deployment, once its database is known. */
  serve(scope: () => KeyScope): void {
    this.#keys.scope = scope;
  }

  get isAvailable(): boolean {
    return this.#commands.client !== null;
  }

  get status(): SharedStateStatus {
    const { made, failed } = this.#calls;
    return { isAvailable: this.isAvailable, callsMade: made, callsFailed: failed };
  }

  /**
   * Opens both connections. Rejects with the client's error; the error of the connection for calls takes precedence.
   */
  async open(timeoutMs: number): Promise<void> {
    const listening = this.#listening.open(timeoutMs);
    listening.catch(() => undefined);
    await this.#commands.open(timeoutMs);
    await listening;
  }

  watch(listener: (isAvailable: boolean) => void): () => void {
    // A new function for each call, so that a watcher that registers twice can end each registration separately.
    const entry = (isAvailable: boolean): void => listener(isAvailable);
    this.#watchers.add(entry);
    return () => this.#watchers.delete(entry);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#listening.close();
    await this.#calls.settled();
    this.#commands.close();
  }

  #went(error: unknown): void {
    if (this.#closing !== null) return;
    const { address, clock, telemetry } = this.#parts;
    this.#awaySince = clock.monotonicMs();
    this.#complained = lastingProblem(error, address.at, address.isEncrypted)?.problem ?? null;
    const fields = { at: address.at, reason: reasonOf(error) };
    telemetry.log.warn(fields, "the shared state is unavailable, continuing without it");
    this.#notifyWatchers(false);
  }

  /** An operator who changed a password should not have to guess why a running server counts as unavailable. */
  #stays(error: unknown): void {
    const { address, telemetry } = this.#parts;
    const problem = lastingProblem(error, address.at, address.isEncrypted);
    if (problem === null || problem.problem === this.#complained) return;
    this.#complained = problem.problem;
    telemetry.log.error(
      { at: address.at, reason: problem.message },
      "the shared state can no longer be used; retrying, and continuing without it",
    );
  }

  #cameBack(): void {
    const { address, clock, telemetry } = this.#parts;
    const { at } = address;
    const awayMs = Math.round(clock.monotonicMs() - this.#awaySince);
    telemetry.log.info({ at, away_ms: awayMs }, "the shared state is available again");
    this.#notifyWatchers(true);
  }

  #notifyWatchers(isAvailable: boolean): void {
    for (const watcher of this.#watchers) watcher(isAvailable);
  }
}

function reasonOf(error: unknown): string {
  return awayReason(error) ?? "the connection to Redis was lost";
}
