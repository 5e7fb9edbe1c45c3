import type { UrlRules } from "../domain/egress/url-policy.ts";
import type { StatisticsStep } from "../domain/statistics/facts.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { EventSchemas } from "../ports/schema-compiler.ts";
import type { SecretBox } from "../ports/secret-box.ts";
import type { SharedState } from "../ports/shared-state.ts";
import type { Store, StoreTrouble } from "../ports/store.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Shortage, Transport } from "../ports/transport.ts";
import type { WorkQueue } from "../ports/work-queue.ts";

/**
 * The dependencies that all parts of one engine share. Most classes take the ones that they use, followed by their
 * other dependencies.
 */
export interface EngineContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly limits: EngineLimits;
}

/** The dependencies of an engine. Contains no engine types, so that every part can use a subset of it. */
export interface EngineOptions extends EngineContext {
  readonly transport: Transport;
  readonly secretBox: SecretBox;
  readonly retention: RetentionOptions;
  /** False disables counting; existing counts can still be read, and are removed by retention. */
  readonly countsStatistics?: boolean;
  readonly statisticsKeptMs?: Readonly<Record<StatisticsStep, number>>;
  /** False for a process that only publishes. Its deliveries stay in the store. */
  readonly delivers: boolean;
  /** Sends work hints to workers, in addition to a shared store. Opened and closed by the caller. */
  readonly workQueue?: WorkQueue;
  /** State that workers share in addition to the store. Opened and closed by the caller. */
  readonly sharedState?: SharedState;
  /** The pool of this worker, and the pool that serves a tenant (WDS-220); defaults to `default`. */
  readonly pool?: string;
  readonly poolOf?: (tenantId: string) => string;
  /** Whether this process takes part in the upkeep of the shared store. Defaults to `delivers`. */
  readonly schedules?: boolean;
  readonly userAgent: string;
  /** The DNS name under which this system requests permission to send (CEW-4.1.2-1). */
  readonly requestOrigin: string;
  /** Validates URLs in responses, such as that of a 308. */
  readonly urlRules: UrlRules;
  readonly tenantExists: (tenantId: string) => boolean;
  readonly schemas: EventSchemas;
}

export interface RetentionOptions {
  /** Age after which bodies are removed (TS16-119): 30 days. */
  readonly payloadMs: number;
  /** Age after which deliveries, attempts and events are removed (WDS-224): 90 days. */
  readonly historyMs: number;
  /** Age after which rows of the audit log are removed; default 400 days. */
  readonly auditMs?: number;
}

export interface EngineLimits {
  /** Maximum active requests. */
  readonly concurrency: number;
  /**
   * Maximum number of waiting slots, for requests that have been in flight for more than a second; 0 keeps all requests
   * active.
   */
  readonly waitingRequests: number;
  readonly webhookConcurrency: number;
  /** Null for no limit. */
  readonly hostConcurrency: number | null;
  readonly payloadBytesMax: number;
  readonly commitWindowMs: number;
  readonly commitRowsMax: number;
  /**
   * Maximum deliveries of one event that a transaction writes, excluding those of ordered webhooks; `fanOutRows` by
   * default.
   */
  readonly eventRowsMax?: number;
  readonly bufferBytesMax: number;
  /** Duration of a lease. Longer than the longest request; see `attemptTimeoutMsMax`. */
  readonly leaseMs: number;
}

export interface EngineActivity {
  /** Number of delivery requests in flight. */
  readonly inFlight: number;
  /** Number of requests that hold a slot of `concurrency`. All other requests have waited for more than a second. */
  readonly active: number;
  readonly concurrency: number;
  /**
   * Number of slots for requests that have waited for more than a second, including forwarded messages and
   * verifications.
   */
  readonly waitingInUse: number;
  readonly waitingRequests: number;
  readonly uncommitted: number;
  /** Why the store cannot write; null if it can write. */
  readonly storeTrouble: StoreTrouble | null;
  /** The recent resource shortage of this machine; null if there is none. */
  readonly shortage: Shortage | null;
  readonly webhooks: number;
  /** Number of webhooks that this process serves; null if it serves all. */
  readonly owned: number | null;
  /** False for a worker that cannot prove its ownership, and therefore does not deliver. */
  readonly holds: boolean;
  /** Duration of the last commit; null before the first. */
  readonly commitMs: number | null;
  /** Age of the oldest fact that no stored bucket contains; 0 if all are stored. */
  readonly statisticsLagMs: number;
  /** Time since the last complete upkeep round; null in a process that does no upkeep. */
  readonly upkeepLagMs: number | null;
}
