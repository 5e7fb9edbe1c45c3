import { messageOf } from "../../domain/thrown.ts";
import type { Clock } from "../../ports/clock.ts";
import { SharedStateUnavailableError } from "../../ports/shared-state.ts";
import type { Logger } from "../../ports/telemetry.ts";
import type { RedisClient } from "./client.ts";
import { answerWithin, type Connection } from "./connection.ts";
import { awayReason, callError } from "./errors.ts";

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
/** Refusals that concern a single key are logged once in this time. */
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

  /** Sends one command per entry, pipelined; answers are in the same order. */
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
