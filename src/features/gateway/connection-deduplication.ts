/** Ignores repeated messages on connections that define when two messages are the same. */
import { hash } from "node:crypto";
import type { Clock } from "../../ports/clock.ts";
import type { AnswerClaim, AnswerStore, ForwardNote } from "../../ports/store/gateway.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { type Authentic, claimMsOf, type MessageReading, placeOf, type Routed } from "./incoming.ts";
import { loggedError } from "./limited-log.ts";
import type { Connection } from "./source.ts";

type ConnectionDeduplicate = NonNullable<Connection["deduplicate"]>;

export interface ConnectionDeduplicationOptions {
  readonly answers: Pick<AnswerStore, "claim" | "finish" | "release">;
  readonly clock: Pick<Clock, "now" | "defer">;
  readonly telemetry: Pick<Telemetry, "log">;
  readonly nextId: () => string;
}

/** The routes that remain after deduplication, and a callback that must be called with their result. */
export interface Deduplicated {
  readonly ways: Routed;
  /** Whether a message with the same identity is in flight, with an unknown result. */
  readonly isRunning: boolean;
  /**
   * Call with the connections that accepted the message; repeats on these are ignored from then on. After a failure,
   * the message may be sent again. Never rejects.
   */
  readonly ended: (taken: (connection: Connection) => boolean) => Promise<void>;
}

/** A connection that ignores repeats, with the digest of the message parts that it compares. */
interface Compared {
  readonly connection: Connection;
  readonly deduplicate: ConnectionDeduplicate;
  readonly digest: string;
}

interface Held {
  readonly connection: Connection;
  readonly claim: AnswerClaim;
}

const fingerprint = "deduplicate";

export class ConnectionDeduplication {
  readonly #options: ConnectionDeduplicationOptions;

  constructor(options: ConnectionDeduplicationOptions) {
    this.#options = options;
  }

  async sift(authentic: Authentic, ways: Routed): Promise<Deduplicated> {
    const held: Held[] = [];
    const ignored: ForwardNote[] = [];
    const repeated = new Set<Connection>();
    let isRunning = false;
    for (const { connection, deduplicate, digest } of await this.#compared(authentic, ways)) {
      const claim = this.#claimOf(authentic, { connection, digest });
      const outcome = await this.#options.answers.claim(claim);
      if (outcome.kind === "claimed") held.push({ connection, claim });
      else if (outcome.kind === "running") isRunning = true;
      else if (outcome.kind === "completed" && outcome.result === authentic.key) continue;
      else {
        const detail = `deduplicate: the same message arrived within ${deduplicate.windowMs} ms`;
        ignored.push({ ...placeOf(connection), result: "ignored", detail });
        repeated.add(connection);
      }
    }
    const open = ways.open.filter((one) => !repeated.has(one));
    const left = { open, held: ways.held.filter((one) => !repeated.has(one)) };
    return {
      ways: { ...left, ignored: [...ways.ignored, ...ignored] },
      isRunning,
      ended: (taken) => this.#ended(authentic, held, taken),
    };
  }

  /**
   * Returns the connections that deduplicate, with their digests. Runs before anything is claimed, so that a message
   * that exceeds its step budget creates no claims.
   */
  async #compared({ incoming, reading }: Authentic, ways: Routed): Promise<readonly Compared[]> {
    const compared: Compared[] = [];
    const known = new Map<string, string | null>();
    for (const connection of [...ways.open, ...ways.held]) {
      const { deduplicate } = connection;
      if (deduplicate === null) continue;
      await reading.turn(this.#options.clock);
      const { includeFields, excludeFields } = deduplicate;
      const rule = JSON.stringify([includeFields, excludeFields]);
      if (!known.has(rule)) {
        const parts = comparedParts(reading, incoming.request.body, deduplicate);
        known.set(rule, parts === null ? null : hash("sha256", parts));
      }
      const digest = known.get(rule) ?? null;
      if (digest !== null) compared.push({ connection, deduplicate, digest });
    }
    return compared;
  }

  #claimOf(
    { incoming }: Authentic,
    { connection, digest }: Pick<Compared, "connection" | "digest">,
  ): AnswerClaim {
    const now = this.#options.clock.now();
    return {
      key: `deduplicate:${connection.id}:${digest}`,
      fingerprint,
      token: this.#options.nextId(),
      now,
      expiresAt: now + claimMsOf(incoming.source),
    };
  }

  async #ended(
    { key }: Authentic,
    held: readonly Held[],
    taken: (connection: Connection) => boolean,
  ): Promise<void> {
    const { answers, clock, telemetry } = this.#options;
    try {
      for (const { connection, claim } of held) {
        const now = clock.now();
        const expiresAt = now + (connection.deduplicate?.windowMs ?? 0);
        if (taken(connection)) await answers.finish({ ...claim, now, expiresAt, result: key });
        else await answers.release(claim.key, claim.token);
      }
    } catch (error) {
      // The message itself is stored, so only log the error. The claim expires later.
      telemetry.log.warn({ err: loggedError(error) }, "writing a gateway deduplication entry failed");
    }
  }
}

/**
 * The parts of a message that are compared. Null for a message that cannot be compared; such a message counts as new.
 */
export function comparedParts(
  reading: Pick<MessageReading, "textAt" | "textWithout">,
  body: Uint8Array,
  { includeFields, excludeFields }: ConnectionDeduplicate,
): string | null {
  if (includeFields === null && excludeFields === null) return digestOf(body);
  try {
    if (includeFields === null) return reading.textWithout(excludeFields ?? []) ?? digestOf(body);
    const texts = includeFields.map((pointer) => reading.textAt(pointer));
    return texts.includes(undefined) ? null : `[${texts.join(",")}]`;
  } catch (error) {
    // A body that is too deeply nested to serialize is compared byte by byte.
    if (error instanceof RangeError) return digestOf(body);
    throw error;
  }
}

function digestOf(body: Uint8Array): string {
  return hash("sha256", body);
}
