import { Backoff } from "../../domain/retry-schedule.ts";
import { messageOf } from "../../domain/thrown.ts";
import { Alarm, type Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Logger } from "../../ports/telemetry.ts";

/**
 * After a proxy closed the connection or a node restarted, the broker is usually available again soon. WDS-210 limits
 * the longest pause.
 */
const bounds = { delayMsMin: 500, delayMsMax: 300_000 };
/**
 * A connection with a shorter lifetime than this counts as a failure. Otherwise a connection that ends immediately
 * would be reopened immediately, forever.
 */
const steadyMs = 10_000;

/**
 * Pauses between attempts to open a long-lived resource. Only a resource that lived for a while counts as a success.
 */
export class SteadyBackoff {
  readonly #random: Pick<Random, "uniform">;
  readonly #backoff = new Backoff(bounds);
  #failures = 0;

  constructor(random: Pick<Random, "uniform">) {
    this.#random = random;
  }

  /** Consecutive attempts without a lasting success. */
  get failures(): number {
    return this.#failures;
  }

  /** Returns the pause after a failed attempt. */
  failed(): number {
    this.#failures += 1;
    return this.#nextMs();
  }

  /** Returns the pause before reopening a resource that was lost after `livedMs`. */
  ended(livedMs: number): number {
    if (livedMs < steadyMs) return this.failed();
    this.#failures = 0;
    this.#backoff.reset();
    return this.#nextMs();
  }

  #nextMs(): number {
    return this.#backoff.nextMs(this.#random.uniform());
  }
}

interface ConnectionOptions<Session extends Losable> {
  /** Attempts to connect once. Rejects within its own time limit, and soon after `signal` is aborted. */
  readonly connect: (signal: AbortSignal) => Promise<Session>;
  /** Sets up everything that belongs to a session, and handles partial failures itself. */
  readonly up: (session: Session) => Promise<void>;
  readonly down: () => void;
  readonly clock: Clock;
  readonly random: Pick<Random, "uniform">;
  readonly log: Logger;
  /** The address without credentials, for log lines. */
  readonly at: string;
}

/** A resource that can be lost, or ended by the caller. */
export interface Losable {
  onLost(listener: (reason: string) => void): void;
  end(): Promise<void>;
}

/** After this many consecutive failed attempts, an operator should investigate (WDS-212). */
const failuresUntilAlert = 3;

/**
 * Keeps one session alive: reconnects after a loss, with growing pauses (WDS-210).
 *
 *   away ──connect──▶ being set up ──▶ up ──lost──▶ away
 *                          └───────────lost────────▶
 *
 * `session` is set only while it is up. A session may be lost during set-up, so each wait is followed by a comparison
 * with the current session. This class does not depend on RabbitMQ, so that tests need no broker; the sockets are in
 * session.ts.
 */
export class Connection<Session extends Losable> {
  readonly #options: ConnectionOptions<Session>;
  readonly #backoff: SteadyBackoff;
  readonly #closing = new AbortController();
  #session: Session | null = null;
  #isUp = false;
  #upSince = 0;
  #awaySince = 0;
  readonly #alarm: Alarm;
  #attempt: Promise<void> | null = null;
  #losses = 0;

  constructor(options: ConnectionOptions<Session>) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock);
    this.#backoff = new SteadyBackoff(options.random);
  }

  /** Null unless everything in the session is set up. */
  get session(): Session | null {
    return this.#isUp ? this.#session : null;
  }

  /** Consecutive attempts that failed or produced a connection that did not last. */
  get failedAttempts(): number {
    return this.#backoff.failures;
  }

  /** Connections lost since the start. */
  get losses(): number {
    return this.#losses;
  }

  /** Opens the first connection. Throws on failure, unlike later attempts. */
  async open(): Promise<void> {
    await this.#adopt(await this.#options.connect(this.#closing.signal));
  }

  /** Safe to call twice. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#alarm.close();
    // Also ends a session that is still being set up.
    await this.#end();
    await this.#attempt;
    await this.#end();
  }

  async #end(): Promise<void> {
    const session = this.#session;
    this.#session = null;
    this.#isUp = false;
    if (session === null) return;
    this.#options.down();
    await session.end();
  }

  async #adopt(session: Session): Promise<void> {
    const { clock, up } = this.#options;
    this.#session = session;
    this.#upSince = clock.monotonicMs();
    session.onLost((reason) => this.#lost(session, reason));
    await up(session);
    this.#isUp = this.#session === session;
  }

  #lost(session: Session, reason: string): void {
    if (this.#session !== session) return;
    const { clock, log, at, down } = this.#options;
    this.#session = null;
    this.#isUp = false;
    this.#losses += 1;
    const now = clock.monotonicMs();
    this.#awaySince = now;
    down();
    log.warn({ at, reason }, "the connection to RabbitMQ was lost");
    this.#later(this.#backoff.ended(now - this.#upSince), reason);
  }

  #later(delayMs: number, reason: string): void {
    const { clock, log, at } = this.#options;
    if (this.#closing.signal.aborted) return;
    if (this.#backoff.failures === failuresUntilAlert) {
      log.error(
        {
          at,
          reason,
          failedAttempts: failuresUntilAlert,
          awayMs: Math.round(clock.monotonicMs() - this.#awaySince),
        },
        "RabbitMQ cannot be reached or loses connections: three attempts in a row failed; polling the store until it works",
      );
    }
    this.#alarm.set(delayMs, () => {
      this.#attempt = this.#again();
    });
  }

  async #again(): Promise<void> {
    const { connect, clock, log, at } = this.#options;
    try {
      const session = await connect(this.#closing.signal);
      await this.#adopt(session);
      if (this.#session !== session) return;
      const awayMs = Math.round(clock.monotonicMs() - this.#awaySince);
      log.info({ at, awayMs, failedAttempts: this.#backoff.failures }, "connected to RabbitMQ again");
    } catch (error) {
      const reason = messageOf(error);
      log.debug({ at, reason }, "RabbitMQ cannot be reached");
      this.#later(this.#backoff.failed(), reason);
    }
  }
}
