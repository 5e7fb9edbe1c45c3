import { createHash } from "node:crypto";
import { tryParseJson } from "../../domain/json/json-text.ts";
import { createBucket } from "../../domain/rate-limit.ts";
import { messageOf } from "../../domain/thrown.ts";
import type { Clock } from "../../ports/clock.ts";
import {
  type EndpointMemory,
  type EndpointNote,
  type EndpointQuery,
  type EndpointRecollection,
  type PublishEntry,
  type PublishKey,
  type PublishMemory,
  type RememberedPublish,
  type SharedLimits,
  SharedStateUnavailableError,
  type SliceCount,
  type TokenDraw,
  type TokenGrant,
} from "../../ports/shared-state.ts";
import type { Logger } from "../../ports/telemetry.ts";
import type { RedisClient } from "./client.ts";
import { answerWithin, type Connection } from "./connection.ts";
import { awayReason, callError } from "./errors.ts";

/** Scope of the stored keys. */
export interface KeyScope {
  /** A random id stored in the database. A new database has a different id, and finds none of the old data. */
  readonly deployment: string;
  /**
   * Identifies the run of the database server that stores the publishes. After a failover to another server, publishes
   * recorded here may be lost there. Null while unknown; in that case the store is queried instead.
   */
  readonly incarnation: string | null;
}

/** Names of keys in Redis. Each entity is one key; the part in braces selects its cluster slot. */
export class Keys {
  readonly #prefix: string;
  /** Null until the database is open, and always in tests without a database. */
  scope: (() => KeyScope) | null = null;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  limit(key: string): string {
    return `${this.#own}:limit:{${key}}`;
  }

  endpoint(webhookId: string): string {
    return `${this.#own}:endpoint:{${webhookId}}`;
  }

  /**
   * A digest, because publishers' keys may be long and contain any characters, and must not collide with keys of other
   * tenants.
   */
  publish({ tenantId, idempotencyKey }: PublishKey): string | null {
    const incarnation = this.scope === null ? "" : this.scope().incarnation;
    if (incarnation === null) return null;
    const digest = createHash("sha256")
      .update(JSON.stringify([tenantId, idempotencyKey, incarnation]))
      .digest("base64url");
    return `${this.#own}:publish:{${digest}}`;
  }

  get #own(): string {
    return this.scope === null ? this.#prefix : `${this.#prefix}:${this.scope().deployment}`;
  }

  /** Key for testing permissions; expires after a second. */
  rehearsal(kind: "limit" | "endpoint" | "publish" | `place ${number}`): string {
    return `${this.#prefix}:rehearsal:${kind}`;
  }

  /** The channel of configuration changes. They are only hints, so hints from other deployments are harmless. */
  get config(): string {
    return `${this.#prefix}:config`;
  }
}

export interface CallsOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly log: Logger;
}

/**
 * This many entries form one call with one deadline, so that taking over many endpoints does not look like an outage.
 */
const entriesPerCall = 100;
/** Refusals that affect a single key are logged once per this interval. */
const complaintGapMs = 60_000;

/** Calls Redis with a time limit, or reports that it is unavailable. */
export class Calls {
  made = 0;
  failed = 0;
  readonly #options: CallsOptions;
  readonly #underway = new Set<Promise<unknown>>();
  #complainedAt = -Infinity;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /** Throws SharedStateUnavailableError. */
  async call<Answer>(work: (client: RedisClient) => Promise<Answer>): Promise<Answer> {
    this.made += 1;
    const { connection, clock, timeoutMs } = this.#options;
    const { client } = connection;
    if (client === null) {
      this.failed += 1;
      throw new SharedStateUnavailableError("Redis is unavailable");
    }
    const answer = answerWithin(work(client), clock, timeoutMs);
    this.#underway.add(answer);
    try {
      return await answer;
    } catch (error) {
      this.failed += 1;
      const known = callError(error);
      if (awayReason(error) !== null) connection.lose(client, error);
      else if (known !== error) this.#complain(error);
      throw known;
    } finally {
      this.#underway.delete(answer);
    }
  }

  /** Sends one command per entry, pipelined; replies are in the same order. */
  async each<Entry, Answer>(
    entries: readonly Entry[],
    work: (client: RedisClient, entry: Entry) => Promise<Answer>,
  ): Promise<readonly Answer[]> {
    if (entries.length <= entriesPerCall) return this.#batch(entries, work);
    const answers: Answer[] = [];
    for (let from = 0; from < entries.length; from += entriesPerCall) {
      answers.push(...(await this.#batch(entries.slice(from, from + entriesPerCall), work)));
    }
    return answers;
  }

  /** Resolves when no call is in flight; the deadline of each call bounds the wait. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underway);
  }

  async #batch<Entry, Answer>(
    entries: readonly Entry[],
    work: (client: RedisClient, entry: Entry) => Promise<Answer>,
  ): Promise<readonly Answer[]> {
    if (entries.length === 0) return [];
    return this.call((client) => Promise.all(entries.map((entry) => work(client, entry))));
  }

  #complain(error: unknown): void {
    const { clock, log } = this.#options;
    const now = clock.monotonicMs();
    if (now - this.#complainedAt < complaintGapMs) return;
    this.#complainedAt = now;
    const reply = messageOf(error);
    log.error({ reply }, "Redis refused a command; the prefix may be in use by another program");
  }
}

/**
 * The state that owners record for their endpoints, in one hash per endpoint (`note` in client.ts). Reading takes one
 * plain command. Adding takes a script, because the last note of a former owner and the first note of the next one may
 * arrive at the same moment.
 */
export class RedisEndpoints implements EndpointMemory {
  readonly #calls: Calls;
  readonly #keys: Keys;

  constructor(calls: Calls, keys: Keys) {
    this.#calls = calls;
    this.#keys = keys;
  }

  async note(notes: readonly EndpointNote[]): Promise<void> {
    await this.#calls.each(notes, (client, note) =>
      client.note(this.#keys.endpoint(note.webhookId), valuesOf(note)),
    );
  }

  async recall(queries: readonly EndpointQuery[]): Promise<readonly EndpointRecollection[]> {
    return this.#calls.each(queries, async (client, { webhookId, windowMs }) =>
      recollection(await client.hGetAll(this.#keys.endpoint(webhookId)), windowMs),
    );
  }
}

function valuesOf({ windowMs, cleared, counts, rateFullAt }: EndpointNote): readonly (string | number)[] {
  const slices = counts.flatMap(({ slice, successes, failures }) => [slice, successes, failures]);
  return [windowMs, cleared ? 1 : 0, rateFullAt ?? "", ...slices];
}

/** Ignores unknown fields. */
function recollection(fields: Readonly<Record<string, string>>, windowMs: number): EndpointRecollection {
  const counts = new Map<number, { slice: number; successes: number; failures: number }>();
  let rateFullAt: number | null = null;
  const isSameWindow = fields["window"] === String(windowMs);
  for (const [field, value] of Object.entries(fields)) {
    const number = Number(value);
    if (!Number.isFinite(number)) continue;
    if (field === "fullAt") rateFullAt = number;
    else if (isSameWindow && /^[sf]\d+$/.test(field)) add(counts, field, number);
  }
  return { counts: [...counts.values()], rateFullAt };
}

function add(
  counts: Map<number, { -readonly [Name in keyof SliceCount]: number }>,
  field: string,
  number: number,
) {
  const slice = Number(field.slice(1));
  const count = counts.get(slice) ?? { slice, successes: 0, failures: 0 };
  counts.set(slice, count);
  if (field.startsWith("s")) count.successes = number;
  else count.failures = number;
}

/** Recorded publishes by key, one string each, which expires with the key's window. NX keeps the first one. */
export class RedisPublishes implements PublishMemory {
  readonly #calls: Calls;
  readonly #keys: Keys;

  constructor(calls: Calls, keys: Keys) {
    this.#calls = calls;
    this.#keys = keys;
  }

  async recall(keys: readonly PublishKey[]): Promise<readonly (RememberedPublish | null)[]> {
    return this.#calls.each(keys, async (client, key) => {
      const name = this.#keys.publish(key);
      return name === null ? null : decode(await client.get(name));
    });
  }

  async remember(entries: readonly PublishEntry[]): Promise<void> {
    // Redis rejects an expiry that is not positive; such an entry need not be stored.
    const lasting = entries.flatMap(({ key, publish, until }) => {
      const name = this.#keys.publish(key);
      return name === null || until < 1 ? [] : [{ name, publish, until }];
    });
    await this.#calls.each(lasting, (client, { name, publish, until }) =>
      client.set(name, encode(publish), {
        condition: "NX",
        expiration: { type: "PXAT", value: Math.ceil(until) },
      }),
    );
  }
}

function encode(publish: RememberedPublish): string {
  const { fingerprint, id, eventType, timestamp, sequenceNumber, deliveries } = publish;
  return JSON.stringify([fingerprint, id, eventType, timestamp, sequenceNumber, deliveries]);
}

/** Null for a missing or unreadable value; in that case the store decides. */
function decode(text: string | null): RememberedPublish | null {
  const fields = text === null ? null : tryParseJson(text);
  if (!Array.isArray(fields) || fields.length !== 6) return null;
  const [fingerprint, id, eventType, timestamp, sequenceNumber, deliveries] = fields as readonly unknown[];
  if (fingerprint !== null && typeof fingerprint !== "string") return null;
  if (typeof id !== "string" || typeof eventType !== "string") return null;
  if (!isNumber(timestamp) || !isNumber(sequenceNumber) || !isNumber(deliveries)) return null;
  return { fingerprint, id, eventType, timestamp, sequenceNumber, deliveries };
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

/** Ticks of the scripts per millisecond; the domain's intervals are whole numbers of ticks. */
const ticksPerMs = 1_024;

/**
 * Buckets of tenants, one key each. The arithmetic is that of domain/rate-limit.ts. The server runs it in one script:
 * between a separate read and write, another worker could draw the same tokens.
 */
export class RedisLimits implements SharedLimits {
  readonly #calls: Calls;
  readonly #keys: Keys;

  constructor(calls: Calls, keys: Keys) {
    this.#calls = calls;
    this.#keys = keys;
  }

  async draw(draws: readonly TokenDraw[]): Promise<readonly TokenGrant[]> {
    return this.#calls.each(this.#entries(draws), async (client, { key, values }) => {
      const [granted = 0, waitMs = 0] = await client.draw(key, values);
      return { granted, waitMs };
    });
  }

  async giveBack(draws: readonly TokenDraw[]): Promise<void> {
    await this.#calls.each(this.#entries(draws), (client, { key, values }) => client.giveBack(key, values));
  }

  /** Throws RangeError before anything is sent if a value is not a valid limit, as the domain does. */
  #entries(draws: readonly TokenDraw[]): readonly Entry[] {
    return draws.map(({ key, limit, tokens }) => {
      const { intervalMs, toleranceMs } = createBucket(limit);
      if (!Number.isSafeInteger(tokens) || tokens < 0) {
        throw new RangeError(`not a number of tokens: ${tokens}`);
      }
      const values = [intervalMs * ticksPerMs, toleranceMs * ticksPerMs, tokens];
      return { key: this.#keys.limit(key), values };
    });
  }
}

interface Entry {
  readonly key: string;
  /** Interval and tolerance in ticks, and the number of tokens. */
  readonly values: readonly number[];
}
