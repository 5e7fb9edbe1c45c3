import type { Profile } from "../core/profile.ts";
import type { Services } from "../engine/services.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { SecretBox } from "../ports/secret-box.ts";
import type { IdempotencyStore } from "../ports/store/idempotency.ts";
import type { Logger, Metrics } from "../ports/telemetry.ts";
import type { CallRates } from "./call-limits.ts";

/** What the API is built from. Nothing here is owned by it: `close` of the API leaves all of this open. */
export interface ApiOptions {
  readonly services: Services;
  readonly idempotency: IdempotencyStore;
  /** Seals stored answers that hold a secret. */
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly random: Pick<Random, "bytes">;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "apiCallLimited">;
  readonly limits: ApiLimits;
  readonly callRates: CallRates;
  readonly readiness: () => Readiness;
  /** Text in the Prometheus exposition format. */
  readonly metricsText: () => Promise<string>;
  readonly profiles: readonly Profile[];
  /** At least 32 bytes. Cursors made with another key are refused. */
  readonly cursorKey: Uint8Array;
  /** Development mode; shown in the API documentation. */
  readonly dev: boolean;
  /** For tests. */
  readonly timeouts?: ApiTimeouts;
  /** One debug line a request. Off by default because even an unwanted line costs time. */
  readonly logRequests?: boolean;
}

/** Slow clients: what a request may take until it is complete, and how long a connection may be idle. */
export interface ApiTimeouts {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** How often Node looks for connections beyond `headersTimeoutMs` and `requestTimeoutMs`. */
  readonly checkIntervalMs: number;
  /** For a client to read the answer that ends its connection. */
  readonly goodbyeMs: number;
  /** What was answered may wait so long until the client has taken it. */
  readonly answerTimeoutMs: number;
}

export interface ApiLimits {
  /** Limit of the rendered payload; enforced by the services, and used here to bound what is read at all. */
  readonly payloadBytesMax: number;
  /** Open at a time; further ones are closed at once. */
  readonly connectionsMax: number;
}

export interface Readiness {
  readonly ready: boolean;
  /**
   * Why not: `starting`, `draining`, `store_unavailable` (with `store_is_standby`, `store_is_read_only`,
   * `store_waits_for_standby`, `disk_full` or `store_damaged` where it is known), `worker_suspended`.
   * `queue_unavailable`, `shared_state_unavailable` and `local_shortage` may stand here although it is ready.
   */
  readonly reasons: readonly string[];
  /** Sentences about reasons that somebody has to do something about. */
  readonly details: readonly string[];
}

/** What a body may have beyond the payload itself: envelope, metadata, links and white space. */
export const envelopeBytesMax = 65_536;

export const batchBytesMax = 16 * 1024 * 1024;
export const batchEventsMax = 1_000;
