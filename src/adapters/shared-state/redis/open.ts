import type { LookupFunction } from "node:net";
import type { Clock } from "../../../ports/clock.ts";
import type { Random } from "../../../ports/random.ts";
import type { Telemetry } from "../../../ports/telemetry.ts";
import { parseAddress } from "./address.ts";
import { loadDriver, newClient } from "./client.ts";
import { isLoading, setupError } from "./errors.ts";
import { RedisSharedState } from "./shared-state.ts";

export interface RedisSharedStateOptions {
  /** `redis://…`, `rediss://…` for TLS, or `unix:///path`. */
  readonly url: string;
  /** Begins every key and channel, so that several deployments may use one server. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, "log">;
  /** Finds the server's addresses instead of the system's resolver. */
  readonly lookup?: LookupFunction;
  /** For opening. */
  readonly connectTimeoutMs?: number;
  /** For a call, or 100 entries of a large batch. */
  readonly callTimeoutMs?: number;
}

/** Whoever starts the program is told soon. */
const connectTimeoutMsDefault = 5_000;
/** An answer takes a millisecond. Who asks can go on without one, and deliveries and publishers wait for no more than this. */
const callTimeoutMsDefault = 250;
/** A server that restarted reads its data first and refuses everything until then, which is no mistake in the setting. */
const loadingPauseMs = 100;

/**
 * Opens the state that workers share in a Redis (6.2 or later) or Valkey (7.2 or later). The server has to be there and to
 * let us do everything that calls will do, because a mistake in the setting should show at once; later it may go away
 * (C-35).
 *
 * Throws SharedStateSetupError, within the time to connect.
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
      newClient: (timeouts) => newClient(driver, { ...timeouts, address, lookup: options.lookup }),
      callTimeoutMs: options.callTimeoutMs ?? callTimeoutMsDefault,
    });
    try {
      await state.open({ timeoutMs: Math.max(1, deadline - clock.monotonicMs()) });
      return state;
    } catch (error) {
      await state.close();
      if (isLoading(error)) loading = error;
      const isTimeUp = clock.monotonicMs() + loadingPauseMs > deadline;
      // The last attempt may have been too short to hear anything.
      if (isTimeUp || loading === undefined) throw setupError(loading ?? error, address);
      await new Promise<void>((resolve) => void clock.schedule(loadingPauseMs, resolve));
    }
  }
}
