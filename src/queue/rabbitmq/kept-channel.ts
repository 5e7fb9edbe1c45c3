import type { Channel, ChannelModel } from "amqplib";
import { messageOf } from "../../domain/thrown.ts";
import { Alarm, type Clock, withDeadline } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Logger } from "../../ports/telemetry.ts";
import { SteadyBackoff } from "./connection.ts";

export interface KeptChannelOptions<Kind extends Channel> {
  /** For log lines. */
  readonly name: string;
  readonly open: (connection: ChannelModel) => Promise<Kind>;
  /** Declares and binds queues and starts consumers. The channel counts as open afterwards. */
  readonly setUp: (channel: Kind) => Promise<void>;
  readonly clock: Clock;
  readonly random: Pick<Random, "uniform">;
  readonly log: Logger;
}

/** A quorum queue without a majority never responds, although the connection stays up. */
const setUpMsMax = 10_000;

/**
 * One channel that is reopened when it closes while its connection lives. The broker closes a channel after any refused
 * operation, so each channel has one purpose.
 *
 *   detached ──attach──▶ being set up ───────────▶ ready
 *                            ▲   │ fails             │ closed, or given up
 *                            │   ▼                   │
 *                            pausing ◀───────────────┘        detach leads back from anywhere
 */
export class KeptChannel<Kind extends Channel> {
  readonly #options: KeptChannelOptions<Kind>;
  readonly #backoff: SteadyBackoff;
  #connection: ChannelModel | null = null;
  /** The channel that is open or being set up. */
  #latest: Kind | null = null;
  #isReady = false;
  #openedAt = 0;
  readonly #alarm: Alarm;

  constructor(options: KeptChannelOptions<Kind>) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock);
    this.#backoff = new SteadyBackoff(options.random);
  }

  /** The channel, or null while it cannot be used. */
  get channel(): Kind | null {
    return this.#isReady ? this.#latest : null;
  }

  /**
   * Whether this channel is the current one, open or being set up. Messages of earlier channels went to other
   * consumers.
   */
  isCurrent(channel: Kind): boolean {
    return this.#latest === channel;
  }

  /**
   * Whether the channel is not ready because attempts to open it failed, rather than because the first attempt is in
   * progress.
   */
  get isTroubled(): boolean {
    return !this.#isReady && this.#backoff.failures > 0;
  }

  /**
   * Opens the channel on a connection. Resolves after the first attempt, even if that attempt failed and more will
   * follow.
   */
  attach(connection: ChannelModel): Promise<void> {
    this.detach();
    this.#connection = connection;
    return this.#open(connection);
  }

  /**
   * Call when the connection is lost or the channel is no longer needed. Returns the channel, which the caller must
   * close.
   */
  detach(): Kind | null {
    const latest = this.#latest;
    this.#connection = null;
    this.#latest = null;
    this.#isReady = false;
    this.#alarm.cancel();
    return latest;
  }

  /** Replaces a channel that is open but has been unusable since the given time (monotonic ms), after a pause. */
  giveUp(reason: string, since: number): void {
    const connection = this.#connection;
    if (connection === null || !this.#isReady) return;
    this.#isReady = false;
    const { name, log } = this.#options;
    log.warn({ channel: name, reason }, "a channel to RabbitMQ is unusable; opening another one");
    this.#again(connection, this.#backoff.ended(since - this.#openedAt));
  }

  async #open(connection: ChannelModel): Promise<void> {
    const { name, open, setUp, clock, log } = this.#options;
    try {
      const channel = await open(connection);
      if (this.#connection !== connection) return await closeQuietly(channel);
      this.#latest = channel;
      this.#openedAt = clock.monotonicMs();
      let reason = "closed";
      channel.on("error", (error) => (reason = error.message));
      channel.on("close", () => this.#closed(channel, reason));
      const isSetUp = await withDeadline(
        setUp(channel).then(() => true),
        { timeoutMs: setUpMsMax, clock },
      );
      if (isSetUp === null) throw new Error("RabbitMQ does not respond in time");
      if (this.#latest !== channel) throw new Error(reason);
      this.#isReady = true;
    } catch (error) {
      // If the connection is lost or the channel is already closed, another code path starts the next attempt.
      if (this.#connection !== connection) return;
      const reason = messageOf(error);
      const failures = this.#backoff.failures;
      const level = failures === 0 ? "error" : "debug";
      log[level]({ channel: name, reason }, "a channel to RabbitMQ cannot be set up; retrying");
      this.#again(connection, this.#backoff.failed());
    }
  }

  #closed(channel: Kind, reason: string): void {
    if (this.#latest !== channel) return;
    const wasReady = this.#isReady;
    this.#latest = null;
    this.#isReady = false;
    // If the channel was still being set up, that attempt fails and starts the next one.
    if (!wasReady) return;
    const { name, clock, log } = this.#options;
    const connection = this.#connection;
    // When a connection is lost, its channels close a moment earlier.
    clock.defer(() => {
      if (connection === null || this.#connection !== connection) return;
      log.warn({ channel: name, reason }, "RabbitMQ closed a channel; opening it again");
      this.#again(connection, this.#backoff.ended(clock.monotonicMs() - this.#openedAt));
    });
  }

  #again(connection: ChannelModel, delayMs: number): void {
    // A channel whose set-up failed halfway may still be open.
    const halfOpen = this.#latest;
    this.#latest = null;
    if (halfOpen !== null) void closeQuietly(halfOpen);
    this.#alarm.set(delayMs, () => {
      if (this.#connection === connection) void this.#open(connection);
    });
  }
}

/** Unacknowledged messages are requeued. */
export async function closeQuietly(channel: Channel): Promise<void> {
  try {
    await channel.close();
  } catch {
    // The channel was already closed.
  }
}
