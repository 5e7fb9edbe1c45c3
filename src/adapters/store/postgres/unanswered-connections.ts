import { Backoff } from "../../../core/backoff.ts";
import { Alarm } from "../../../ports/timing/alarm.ts";
import type { Runner } from "./database.ts";
import { numbers, texts } from "./columns.ts";
import { isConnectionRefused } from "./errors.ts";
import { identityOf } from "./incarnations.ts";
import { realTime } from "./real-time.ts";
import type { Greeting } from "./server-greeting.ts";

/**
 * Runs queries over a recently opened connection, which leads to where the address leads now, and is not one of those
 * counted here.
 */
export interface FreshRunner extends Runner {
  /** The open connection may lead elsewhere: the next query needs another one. */
  renew(): void;
}

interface Held {
  readonly greeting: Greeting;
  readonly free: () => void;
}

type FoundRow = [identity: string, pid: number | null, waitsForStandby: boolean | null];

const askBounds = { delayMsMin: 250, delayMsMax: 2_000 };

/** Which of these server processes are still the ones that were greeted. */
const findSql = `SELECT ${identityOf}, a.pid, coalesce(a.wait_event = 'SyncRep', false)
  FROM (SELECT 1) AS always LEFT JOIN (
    SELECT a.pid, a.wait_event FROM pg_stat_activity a
    JOIN unnest($1::int[], $2::text[]) AS g (pid, greeted_at) ON g.pid = a.pid AND a.backend_start <= g.greeted_at::timestamptz)
  AS a ON true`;

const endSql = "SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid";

/**
 * Connections whose last statement was not answered. Closing them would not end their work in the server: a commit that
 * waits for a synchronous standby waits forever, and each replacement would be one more connection. So each counts as
 * used until its server process is gone, or the address leads to another server.
 *
 * A statement that should have ended by its limits is ended with `pg_terminate_backend`. A commit that waits for its
 * standby is left alone: ending the wait would make visible what only one server has.
 */
export class UnansweredConnections {
  readonly #fresh: FreshRunner;
  readonly #held = new Set<Held>();
  readonly #alarm = new Alarm(realTime);
  readonly #backoff = new Backoff(askBounds);
  #isAsking = false;
  #isClosed = false;
  #waitsForStandby = false;

  constructor(fresh: FreshRunner) {
    this.#fresh = fresh;
  }

  /** Whether commits are known to wait for a synchronous standby. */
  get waitsForStandby(): boolean {
    return this.#held.size > 0 && this.#waitsForStandby;
  }

  /**
   * Calls `free` once, when the server has ended the connection. The returned function does so at once, for a caller
   * that knows it already.
   */
  hold(greeting: Greeting, free: () => void): () => void {
    const held: Held = { greeting, free };
    const release = (): void => this.#release(held);
    if (this.#isClosed) {
      free();
      return () => undefined;
    }
    if (this.#held.size === 0) this.#fresh.renew();
    this.#held.add(held);
    this.#backoff.reset();
    this.#later(0);
    return release;
  }

  close(): void {
    this.#isClosed = true;
    this.#alarm.close();
    for (const held of this.#held) this.#release(held);
  }

  #release(held: Held): void {
    if (this.#held.delete(held)) held.free();
  }

  #later(delayMs: number): void {
    if (!this.#isAsking) this.#alarm.set(delayMs, () => void this.#ask());
  }

  async #ask(): Promise<void> {
    if (this.#isAsking || this.#held.size === 0) return;
    this.#isAsking = true;
    const asked = [...this.#held];
    try {
      await this.#look(asked);
    } catch (error) {
      // Nothing listens there, or the server has just started: no earlier server process is left.
      if (isConnectionRefused(error)) for (const held of asked) this.#release(held);
    }
    this.#isAsking = false;
    if (this.#held.size === 0) return;
    this.#later(this.#backoff.nextMs());
  }

  async #look(asked: readonly Held[]): Promise<void> {
    const found = await this.#fresh.rows<FoundRow>(findSql, [
      numbers(asked.map(({ greeting }) => greeting.pid)),
      texts(asked.map(({ greeting }) => greeting.greetedAt)),
    ]);
    const identity = found[0]?.[0] ?? "";
    const left = new Map(found.map(([, pid, waits]) => [pid, waits === true]));
    const overdue: number[] = [];
    for (const held of asked) {
      const { greeting } = held;
      const waits = greeting.identity === identity ? left.get(greeting.pid) : undefined;
      if (waits === undefined) this.#release(held);
      else if (!waits) overdue.push(greeting.pid);
    }
    this.#waitsForStandby = [...left.values()].includes(true);
    if (overdue.length > 0) await this.#fresh.rows(endSql, [numbers(overdue)]);
  }
}
