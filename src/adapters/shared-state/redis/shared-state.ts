import type {
  ConfigNews,
  EndpointMemory,
  PublishMemory,
  SharedLimits,
  SharedState,
} from "../../../ports/shared-state.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Random } from "../../../ports/random.ts";
import type { Telemetry } from "../../../ports/telemetry.ts";
import type { Address } from "./address.ts";
import { Calls } from "./calls.ts";
import type { RedisClient } from "./client.ts";
import { RedisConfigNews } from "./config-news.ts";
import { Connection } from "./connection.ts";
import { RedisEndpoints } from "./endpoints.ts";
import { awayReason, lastingProblem, type RedisProblem } from "./errors.ts";
import { Keys, type KeyScope } from "./keys.ts";
import { RedisLimits } from "./limits.ts";
import { RedisPublishes } from "./publishes.ts";
import { checkServer, rehearse } from "./server-check.ts";

interface Parts {
  readonly address: Address;
  readonly newClient: (timeouts: { readonly connectTimeoutMs: number }) => RedisClient;
  readonly prefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, "log">;
  readonly callTimeoutMs: number;
}

/** For metrics. A batch of more than 100 entries counts once for each 100. */
export interface SharedStateStatus {
  readonly isAvailable: boolean;
  readonly callsMade: number;
  readonly callsFailed: number;
}

/**
 * Two connections: one for calls, one that receives configuration changes. Only the first decides whether the shared
 * state is available. After the second was away, listeners receive `unknown`.
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
      // The other connection warns. Losing this one only delays changes.
      lost: (error) =>
        telemetry.log.debug({ at, reason: reasonOf(error) }, "the feed of configuration changes was lost"),
      stillLost: () => undefined,
      restored: () => news.notify({ kind: "unknown" }),
    });
  }

  /** Limits it to one deployment, once its database is known. */
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

  /** Rejects with the client's error. The error of the connection for calls takes precedence. */
  async open(timeoutMs: number): Promise<void> {
    const listening = this.#listening.open(timeoutMs);
    listening.catch(() => undefined);
    await this.#commands.open(timeoutMs);
    await listening;
  }

  watch(listener: (isAvailable: boolean) => void): () => void {
    // A new function each time, so that a watcher that registers twice can end each registration separately.
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

  /** An operator who changed a password should not have to guess why a running server counts as away. */
  #stays(error: unknown): void {
    const { address, telemetry } = this.#parts;
    const problem = lastingProblem(error, address.at, address.isEncrypted);
    if (problem === null || problem.problem === this.#complained) return;
    this.#complained = problem.problem;
    telemetry.log.error(
      { at: address.at, reason: problem.message },
      "the shared state cannot be used any more; retrying, and continuing without it",
    );
  }

  #cameBack(): void {
    const { address, clock, telemetry } = this.#parts;
    const { at } = address;
    const awayMs = Math.round(clock.monotonicMs() - this.#awaySince);
    telemetry.log.info({ at, away_ms: awayMs }, "the shared state is back");
    this.#notifyWatchers(true);
  }

  #notifyWatchers(isAvailable: boolean): void {
    for (const watcher of this.#watchers) watcher(isAvailable);
  }
}

function reasonOf(error: unknown): string {
  return awayReason(error) ?? "the connection to Redis was lost";
}
