import type { LookupFunction } from "node:net";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { loadDriver, newClient } from "./client.ts";
import { isLoading, parseAddress, setupError } from "./errors.ts";
import { RedisSharedState } from "./shared-state.ts";

export interface RedisSharedStateOptions {
  /** `redis://…`, `rediss://…` for TLS, or `unix:///path`. */
  readonly url: string;
  /** Prefix of every key and channel, so that several deployments can share one server. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, "log">;
  /** Resolves the server's name, in place of the system's resolver. */
  readonly lookup?: LookupFunction;
  /** Time limit for opening. */
  readonly connectTimeoutMs?: number;
  /** Time limit for a call, or for 100 entries of a large batch. */
  readonly callTimeoutMs?: number;
}

/** Short, so that the operator sees a failed start quickly. */
const connectTimeoutMsDefault = 5_000;
/**
 * A reply takes a millisecond. Callers can continue without one, and deliveries and publishes never wait longer than
 * this.
 */
const callTimeoutMsDefault = 250;
/** A restarted server loads its data first and refuses everything until then, which is not a configuration error. */
const loadingPauseMs = 100;

/**
 * Opens the state that workers share in Redis (6.2 or later) or Valkey (7.2 or later). At startup the server must be
 * reachable and must permit everything that calls need, because a wrong setting should be reported immediately. Later it
 * may become unavailable: deliveries continue without it.
 *
 * Throws SharedStateSetupError within the connect timeout.
 */
export async function openRedisSharedState(options: RedisSharedStateOptions): Promise<RedisSharedState> {
  const { clock, connectTimeoutMs = connectTimeoutMsDefault } = options;
  const address = parseAddress(options.url);
  const driver = await loadDriver();
  let loading: unknown;
  const deadline = clock.monotonicMs() + connectTimeoutMs;
  for (;;) {
    const state = new RedisSharedState({
      ...options,
      address,
      newClient: (timeoutMs) => newClient(driver, address, timeoutMs, options.lookup),
      callTimeoutMs: options.callTimeoutMs ?? callTimeoutMsDefault,
    });
    try {
      await state.open(Math.max(1, deadline - clock.monotonicMs()));
      return state;
    } catch (error) {
      await state.close();
      if (isLoading(error)) loading = error;
      const isTimeUp = clock.monotonicMs() + loadingPauseMs > deadline;
      // The last attempt may have been too short for a reply.
      if (isTimeUp || loading === undefined)
        throw setupError(loading ?? error, address.at, address.isEncrypted);
      await new Promise<void>((resolve) => void clock.schedule(loadingPauseMs, resolve));
    }
  }
}
