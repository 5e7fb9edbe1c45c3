import type { UrlRules } from "../core/egress/url-policy.ts";
import type { StatisticsStep } from "../core/statistics/buckets.ts";
import type { Clock } from "../ports/clock.ts";
import type { EventSchemas } from "../ports/event-schemas.ts";
import type { Random } from "../ports/random.ts";
import type { SecretBox } from "../ports/secret-box.ts";
import type { SharedState } from "../ports/shared-state.ts";
import type { Store, StoreTrouble } from "../ports/store.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Shortage, Transport } from "../ports/transport.ts";
import type { WorkQueue } from "../ports/work-queue.ts";

/** What an engine is made of. It names nothing of the engine, so that every part may ask for some of it. */
export interface EngineOptions {
  readonly store: Store;
  readonly transport: Transport;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly limits: EngineLimits;
  readonly retention: RetentionOptions;
  /** False counts nothing; what was counted before is read and forgotten as ever. */
  readonly countsStatistics?: boolean;
  readonly statisticsKeptMs?: Readonly<Record<StatisticsStep, number>>;
  /** False for a process that only publishes: deliveries stay in the store. */
  readonly delivers: boolean;
  /** Tells workers where work is, beside a store that several processes share. Opened and closed by the caller. */
  readonly workQueue?: WorkQueue;
  /** What workers share beside the store. Opened and closed by the caller. */
  readonly sharedState?: SharedState;
  /** The pool of this worker, and the one that serves a tenant (WDS-220); `default` when left out. */
  readonly pool?: string;
  readonly poolOf?: (tenantId: string) => string;
  /** Whether this process does upkeep, as one of those that share the store; as `delivers` when left out. */
  readonly schedules?: boolean;
  readonly userAgent: string;
  /** The DNS name under which this system asks for permission to send (CEW-4.1.2-1). */
  readonly requestOrigin: string;
  /** For URLs that come in answers, such as a 308. */
  readonly urlRules: UrlRules;
  readonly tenantExists: (tenantId: string) => boolean;
  readonly schemas: EventSchemas;
}

export interface RetentionOptions {
  /** Bodies are removed after this (TS16-119): 30 days. */
  readonly payloadMs: number;
  /** Deliveries, attempts and events are removed after this (WDS-224): 90 days. */
  readonly historyMs: number;
  /** Rows of the audit log are removed after this: 400 days when left out. */
  readonly auditMs?: number;
}

export interface EngineLimits {
  /** Active requests. */
  readonly concurrency: number;
  /** Requests that have waited for a second; 0 keeps all of them active. */
  readonly waitingRequests: number;
  readonly webhookConcurrency: number;
  /** Null without a limit. */
  readonly hostConcurrency: number | null;
  readonly payloadBytesMax: number;
  readonly commitWindowMs: number;
  readonly commitRowsMax: number;
  readonly bufferBytesMax: number;
  /** Longer than the longest request; see `attemptTimeoutMsMax`. */
  readonly leaseMs: number;
}

export interface EngineActivity {
  /** Requests of deliveries on their way. */
  readonly inFlight: number;
  /** Of them, those that hold a slot of `concurrency`: the others have waited for a second. */
  readonly active: number;
  readonly concurrency: number;
  /** Slots for requests that have waited for a second, forwarded messages and verifications included. */
  readonly waitingInUse: number;
  readonly waitingRequests: number;
  readonly uncommitted: number;
  /** What keeps the store from writing; null while it writes. */
  readonly storeTrouble: StoreTrouble | null;
  /** What this machine lacked a moment ago for a request; null when nothing. */
  readonly shortage: Shortage | null;
  readonly webhooks: number;
  /** Webhooks that this process serves; null when it serves all. */
  readonly owned: number | null;
  /** False for a worker that cannot prove that others let it deliver, and therefore does not. */
  readonly holds: boolean;
  /** How long the last commit took; null before the first. */
  readonly commitMs: number | null;
  /** Age of the oldest thing that was counted and no stored bucket has; 0 when all is stored. */
  readonly statisticsLagMs: number;
  /** Since the last whole round of upkeep; null in a process that does not do it. */
  readonly upkeepLagMs: number | null;
}
