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

/** What all parts of one engine share. Most classes take the members that they use, followed by their other parts. */
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
  /** False for a process that only publishes: deliveries stay in the store. */
  readonly delivers: boolean;
  /** Sends work hints to workers, in addition to a shared store. Opened and closed by the caller. */
  readonly workQueue?: WorkQueue;
  /** State that workers share in addition to the store. Opened and closed by the caller. */
  readonly sharedState?: SharedState;
  /** The pool of this worker, and the pool that serves a tenant (WDS-220); defaults to `default`. */
  readonly pool?: string;
  readonly poolOf?: (tenantId: string) => string;
  /** Whether this process does upkeep, as one of those that share the store; defaults to `delivers`. */
  readonly schedules?: boolean;
  readonly userAgent: string;
  /** The DNS name under which this system requests permission to send (CEW-4.1.2-1). */
  readonly requestOrigin: string;
  /** For URLs in responses, such as a 308. */
  readonly urlRules: UrlRules;
  readonly tenantExists: (tenantId: string) => boolean;
  readonly schemas: EventSchemas;
}

export interface RetentionOptions {
  /** Bodies are removed after this (TS16-119): 30 days. */
  readonly payloadMs: number;
  /** Deliveries, attempts and events are removed after this (WDS-224): 90 days. */
  readonly historyMs: number;
  /** Rows of the audit log are removed after this; default 400 days. */
  readonly auditMs?: number;
}

export interface EngineLimits {
  /** Active requests. */
  readonly concurrency: number;
  /** Requests that have waited for more than a second; 0 keeps all of them active. */
  readonly waitingRequests: number;
  readonly webhookConcurrency: number;
  /** Null without a limit. */
  readonly hostConcurrency: number | null;
  readonly payloadBytesMax: number;
  readonly commitWindowMs: number;
  readonly commitRowsMax: number;
  /** Deliveries of one event that a transaction writes, apart from those of ordered webhooks; `fanOutRows` by default. */
  readonly eventRowsMax?: number;
  readonly bufferBytesMax: number;
  /** Longer than the longest request; see `attemptTimeoutMsMax`. */
  readonly leaseMs: number;
}

export interface EngineActivity {
  /** Delivery requests in flight. */
  readonly inFlight: number;
  /** Requests that hold a slot of `concurrency`; the others have waited for more than a second. */
  readonly active: number;
  readonly concurrency: number;
  /** Slots for requests that have waited for more than a second, including forwarded messages and verifications. */
  readonly waitingInUse: number;
  readonly waitingRequests: number;
  readonly uncommitted: number;
  /** Why the store cannot write; null if it can. */
  readonly storeTrouble: StoreTrouble | null;
  /** The recent resource shortage of this machine; null if there is none. */
  readonly shortage: Shortage | null;
  readonly webhooks: number;
  /** Webhooks that this process serves; null if it serves all. */
  readonly owned: number | null;
  /** False for a worker that cannot prove its ownership, and therefore does not deliver. */
  readonly holds: boolean;
  /** Duration of the last commit; null before the first. */
  readonly commitMs: number | null;
  /** Age of the oldest count that is not in a stored bucket; 0 if all are stored. */
  readonly statisticsLagMs: number;
  /** Time since the last complete upkeep round; null in a process that does not do upkeep. */
  readonly upkeepLagMs: number | null;
}
