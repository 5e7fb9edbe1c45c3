import type { Profile } from "../domain/profile.ts";
import type { GatewayServices } from "../features/gateway/gateway-services.ts";
import type { SourceType } from "../features/gateway/source.ts";
import type { Services } from "../features/services.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { SecretBox } from "../ports/secret-box.ts";
import type { Store, StoreFacts } from "../ports/store.ts";
import type { Logger, Metrics } from "../ports/telemetry.ts";
import type { CallRates } from "./authentication.ts";
import type { ClientCertificateSource } from "./serve-inbound.ts";
import type { Sessions } from "./dashboard-sessions.ts";

/** The dependencies of the API. Closing the API does not close them. */
export interface ApiOptions {
  readonly services: Services;
  readonly gateway: GatewayServices;
  /** Base URL of inbound requests, without a trailing slash. If null, the address of the API is used. */
  readonly inboundUrl?: () => string | null;
  /** How TLS-terminating proxies pass on the client certificate of a sender; null if none does. */
  readonly clientCertificates?: ClientCertificateSource | null;
  /** CIDR blocks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: readonly string[];
  /** Handles inbound requests on the address of the API. */
  readonly takesInbound?: boolean;
  /** Used only for idempotency keys. Routes use the services. */
  readonly store: Store;
  /** Seals stored responses that contain a secret. */
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly random: Pick<Random, "bytes">;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "apiCallLimited">;
  readonly limits: ApiLimits;
  readonly callRates: CallRates;
  readonly readiness: () => Readiness;
  readonly system: () => Promise<SystemReport>;
  /** Returns text in the Prometheus exposition format. */
  readonly metricsText: () => Promise<string>;
  readonly profiles: readonly Profile[];
  readonly sourceTypes: readonly SourceType[];
  /** At least 32 bytes. Cursors created with a different key are rejected. */
  readonly cursorKey: Uint8Array;
  /** Version of the package. */
  readonly version: string;
  /** Development mode; shown in the API documentation. */
  readonly dev: boolean;
  /** Absent or null if the dashboard is disabled. */
  readonly dashboard?: Dashboard | null;
  /** Absent or null if receivers cannot be examined from this process. */
  readonly examineReceiver?: ExamineReceiver | null;
  /** Absent or null if the portal is disabled. */
  readonly portal?: Portal | null;
  /** Path prefix that a proxy forwards without stripping it, such as `/hooks`; empty for none. */
  readonly basePath?: string;
  /** For tests. */
  readonly timeouts?: ApiTimeouts;
  /** Logs one debug line per request. Off by default because even a suppressed line costs time. */
  readonly logRequests?: boolean;
}

/** The operator dashboard at `/ui`. */
export interface Dashboard {
  readonly sessions: Sessions;
  /** Version of the server. */
  readonly version: string;
  /** Files by path below `/ui/`, including `index.html`. Rejects with a human-readable reason. */
  readonly files: () => Promise<ReadonlyMap<string, DashboardFile>>;
}

/** Checks a receiver with the same rules as `posthorn check`. */
export type ExamineReceiver = (
  target: {
    readonly webhookId: string;
    readonly url: string;
    readonly profile: string;
    readonly secret: string | null;
  },
  options: { readonly allowValid: boolean },
) => Promise<readonly object[]>;

/** The customer portal at `/portal`. */
export interface Portal {
  /** Public address of this server. If null, the address of the request is used. */
  readonly publicUrl: string | null;
  /** Origins that may call the API with a session token. */
  readonly origins: readonly string[];
  /** Files by path below `/portal/`, as for the dashboard. */
  readonly files: () => Promise<ReadonlyMap<string, DashboardFile>>;
}

export interface DashboardFile {
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Compressed versions, where they are smaller. */
  readonly encodings: Readonly<Partial<Record<"br" | "gzip", Uint8Array>>>;
}

/** Limits for slow clients: time to receive a request, and idle time of a connection. */
export interface ApiTimeouts {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** How often Node checks connections against `headersTimeoutMs` and `requestTimeoutMs`. */
  readonly checkIntervalMs: number;
  /** Time for a client to read the response that ends its connection. */
  readonly goodbyeMs: number;
  /** How long a response may wait for the client to read it. */
  readonly answerTimeoutMs: number;
}

export interface ApiLimits {
  /** Maximum size of the rendered payload. Services enforce it; here it limits how much of a body is read. */
  readonly payloadBytesMax: number;
  /**
   * Maximum number of open connections. At the limit, a new connection replaces another one or is rejected; see
   * `HeldConnections`.
   */
  readonly connectionsMax: number;
}

export interface Readiness {
  readonly ready: boolean;
  /**
   * Why the process is not ready: `starting`, `draining`, `store_unavailable` (with `store_is_standby`,
   * `store_is_read_only`, `store_waits_for_standby`, `disk_full` or `store_damaged` if known), `worker_suspended`.
   * `queue_unavailable`, `shared_state_unavailable` and `local_shortage` may also be listed while the process is ready.
   */
  readonly reasons: readonly string[];
  /** Explains each reason that requires an operator to act. */
  readonly details: readonly string[];
}

/** Configuration of this process and its view of the deployment. Contains no secrets. */
export interface SystemReport {
  readonly roles: readonly string[];
  /** Warnings about the whole deployment. */
  readonly warnings: readonly string[];
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Keyed by pool name; null while the store cannot report the workers. */
  readonly pools: ReadonlyMap<string, number> | null;
  readonly store: { readonly kind: "sqlite" | "postgresql"; readonly facts: StoreFacts | null };
  readonly queue: Companion<"store" | "rabbitmq">;
  readonly sharedState: Companion<"process" | "redis">;
  readonly retention: {
    readonly payloadDays: number;
    readonly historyDays: number;
    readonly auditDays: number;
  };
  readonly settings: readonly ReportedSetting[];
}

/** A component outside the process and the store. Built-in ones are always available and are not listed. */
export interface Companion<Kind extends string> {
  readonly kind: Kind;
  readonly isAvailable: boolean;
}

/** An effective setting; secrets are masked. `source` is null if unknown. */
export interface ReportedSetting {
  readonly name: string;
  readonly value: string;
  readonly source: { readonly kind: string; readonly name: string } | null;
}

/** Allowance for all parts of a body other than the payload: envelope, metadata, links and white space. */
export const envelopeBytesMax = 65_536;

export const batchBytesMax = 16 * 1024 * 1024;
