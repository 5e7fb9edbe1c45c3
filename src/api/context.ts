import type { Profile } from "../core/profile.ts";
import type { Services } from "../engine/services.ts";
import type { Clock } from "../ports/clock.ts";
import type { SecretBox } from "../ports/secret-box.ts";
import type { IdempotencyStore } from "../ports/store/idempotency.ts";
import type { Logger } from "../ports/telemetry.ts";

/** What the API is built from. Nothing here is owned by it: `close` of the API leaves all of this open. */
export interface ApiOptions {
  readonly services: Services;
  readonly idempotency: IdempotencyStore;
  /** Seals stored answers that hold a secret. */
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: ApiLimits;
  readonly readiness: () => Readiness;
  /** Text in the Prometheus exposition format. */
  readonly metricsText: () => Promise<string>;
  readonly profiles: readonly Profile[];
  /** At least 32 bytes. Cursors made with another key are refused. */
  readonly cursorKey: Uint8Array;
  /** Development mode; shown in the API documentation. */
  readonly dev: boolean;
  /** One debug line a request. Off by default because even an unwanted line costs time. */
  readonly logRequests?: boolean;
}

export interface ApiLimits {
  /** Limit of the rendered payload; enforced by the services, and used here to bound what is read at all. */
  readonly payloadBytesMax: number;
}

export interface Readiness {
  readonly ready: boolean;
  /**
   * Why not: `starting`, `draining`, `store_unavailable`, `worker_suspended`. `queue_unavailable` and
   * `shared_state_unavailable` may stand here although it is ready.
   */
  readonly reasons: readonly string[];
}

/** What a body may have beyond the payload itself: envelope, metadata, links and white space. */
export const envelopeBytesMax = 65_536;

export const batchBytesMax = 16 * 1024 * 1024;
export const batchEventsMax = 1_000;
