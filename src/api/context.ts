import type { ClientCertificateSource } from "./inbound/client-certificate.ts";
import type { SourceType } from "../core/gateway/source-type.ts";
import type { Profile } from "../core/profile.ts";
import type { GatewayServices } from "../services/gateway/gateway-services.ts";
import type { Services } from "../services/services.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { SecretBox } from "../ports/secret-box.ts";
import type { StoreFacts } from "../ports/store.ts";
import type { IdempotencyStore } from "../ports/store/idempotency.ts";
import type { Logger, Metrics } from "../ports/telemetry.ts";
import type { CallRates } from "./call-limits.ts";
import type { Sessions } from "./dashboard/sessions.ts";

/** What the API is built from. Nothing here is owned by it: `close` of the API leaves all of this open. */
export interface ApiOptions {
  readonly services: Services;
  readonly gateway: GatewayServices;
  /** Where others send to, without a slash at its end; null takes the address of the API. */
  readonly inboundUrl?: () => string | null;
  /** Where proxies that end TLS name the certificate of a sender; null where none does. */
  readonly clientCertificates?: ClientCertificateSource | null;
  /** Whose `X-Forwarded-For` names the address of a sender, as CIDR blocks. */
  readonly trustedProxies?: readonly string[];
  /** Serves what others send beside the API. */
  readonly takesInbound?: boolean;
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
  readonly system: () => Promise<SystemReport>;
  /** Text in the Prometheus exposition format. */
  readonly metricsText: () => Promise<string>;
  readonly profiles: readonly Profile[];
  readonly sourceTypes: readonly SourceType[];
  /** At least 32 bytes. Cursors made with another key are refused. */
  readonly cursorKey: Uint8Array;
  /** Of the package. */
  readonly version: string;
  /** Development mode; shown in the API documentation. */
  readonly dev: boolean;
  /** Absent and null leave the dashboard out. */
  readonly dashboard?: Dashboard | null;
  /** Absent and null where receivers cannot be checked from here. */
  readonly examineReceiver?: ExamineReceiver | null;
  /** Absent and null leave the portal out. */
  readonly portal?: Portal | null;
  /** Path below which a proxy passes requests on without taking it away, such as `/hooks`; empty for none. */
  readonly basePath?: string;
  /** For tests. */
  readonly timeouts?: ApiTimeouts;
  /** One debug line a request. Off by default because even an unwanted line costs time. */
  readonly logRequests?: boolean;
}

/** The operator dashboard at `/ui`. */
export interface Dashboard {
  readonly sessions: Sessions;
  /** Of the server. */
  readonly version: string;
  /** Its files by path below `/ui/`, with `index.html` among them. Rejects with a reason for people. */
  readonly files: () => Promise<ReadonlyMap<string, DashboardFile>>;
}

/** Tries a receiver by the rules of `posthorn check`. */
export type ExamineReceiver = (
  target: {
    readonly webhookId: string;
    readonly url: string;
    readonly profile: string;
    readonly secret: string | null;
  },
  options: { readonly allowValid: boolean },
) => Promise<readonly object[]>;

/** The pages of customers at `/portal`. */
export interface Portal {
  /** Where this server is reached from outside; null takes the address of the request. */
  readonly publicUrl: string | null;
  /** Pages that may call the API with the token of a session. */
  readonly origins: readonly string[];
  /** As those of the dashboard, by path below `/portal/`. */
  readonly files: () => Promise<ReadonlyMap<string, DashboardFile>>;
}

export interface DashboardFile {
  readonly contentType: string;
  readonly body: Uint8Array;
  /** The same compressed, where that makes it smaller. */
  readonly encodings: Readonly<Partial<Record<"br" | "gzip", Uint8Array>>>;
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

/** How this process is set up, and what it knows of the others. Holds no secret. */
export interface SystemReport {
  readonly roles: readonly string[];
  /** Of the whole deployment. */
  readonly warnings: readonly string[];
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** By name; null while the store cannot say. */
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

/** What is in use beside the store; what is in the process or the store itself is always there. */
export interface Companion<Kind extends string> {
  readonly kind: Kind;
  readonly isAvailable: boolean;
}

/** A setting in force; a secret is masked. `source` is null where it is not known. */
export interface ReportedSetting {
  readonly name: string;
  readonly value: string;
  readonly source: { readonly kind: string; readonly name: string } | null;
}

/** What a body may have beyond the payload itself: envelope, metadata, links and white space. */
export const envelopeBytesMax = 65_536;

export const batchBytesMax = 16 * 1024 * 1024;
export const batchEventsMax = 1_000;
