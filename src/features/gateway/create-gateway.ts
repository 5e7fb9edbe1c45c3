import { createHash } from "node:crypto";
import { profiles } from "../../domain/profiles/index.ts";
import type { PlacesLimits } from "../../domain/sender-places.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { Store } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import type { TenantDirectory } from "../tenants/tenant-service.ts";
import { ConnectionDeduplication } from "./connection-deduplication.ts";
import { Connections } from "./connection-service.ts";
import { Deliverer } from "./deliverer.ts";
import { FilterEvaluations } from "./filter-evaluation.ts";
import { type GatewayDirectory, VerificationBox } from "./gateway-directory.ts";
import { type GatewayServices, type ServiceDescription, refusal } from "./gateway-services.ts";
import type { ConsentSender } from "./request-admission.ts";
import { HeldMessages } from "./held-messages.ts";
import { GatewayInbound } from "./inbound.ts";
import { LimitedLog } from "./limited-log.ts";
import type { OwnAddresses } from "./address.ts";
import { PassThrough } from "./pass-through.ts";
import { RequestLog } from "./request-log.ts";
import { Requests } from "./request-service.ts";
import { Sources } from "./source-service.ts";
import { type GatewayMode, type Source, sourceDefaults } from "./source.ts";

/** The configuration of the deployment. */
interface DescribedDeployment {
  readonly durability: "sqlite" | "postgresql";
  readonly payloadBytesMax: number;
  readonly payloadDays: number;
  readonly historyDays: number;
}

/**
 * Builds the service description from the same data that deliveries use, so the description matches the actual
 * behaviour (EDS-9.7-6).
 */
function describeService(deployment: DescribedDeployment): ServiceDescription {
  const content = {
    service: "posthorn gateway",
    modes: {
      pass_through:
        "The response is 2xx only after the destination has accepted the message. There is one attempt, or as many as fit into the time budget of the source; a repeat with the same key goes to the destinations that have not accepted the message yet.",
      store_and_forward:
        "The response is 2xx once message, deliveries and key are committed together. Delivery follows the retry schedule of the destination's profile; messages that are not accepted within it become dead letters and can be replayed.",
    },
    durability: durability[deployment.durability],
    idempotency_key:
      "The value of Idempotency-Key is forwarded byte for byte with every attempt, retry and replay. If there is none, the gateway adds a key that is the same for repeats of the same message.",
    deduplication: { window_ms_default: sourceDefaults.dedupWindowMs, window_ms_min: 86_400_000 },
    retention: { payload_days: deployment.payloadDays, history_days: deployment.historyDays },
    limits: { payload_bytes_max: deployment.payloadBytesMax },
    retry_schedules: profiles.map(({ name, schedule }) => ({ profile: name, schedule })),
  };
  const version = createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 12);
  return { version, content };
}

const durability = {
  sqlite: "SQLite, synced to disk before the response (WAL, synchronous=FULL).",
  postgresql: "PostgreSQL, committed before the response, with the server's synchronous_commit setting.",
} as const;

export interface GatewayOptions {
  readonly access: EngineAccess;
  readonly store: Pick<Store, "gateway" | "history">;
  readonly directory: GatewayDirectory;
  readonly tenants: Pick<TenantDirectory, "has">;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly random: Pick<Random, "bytes">;
  readonly telemetry: Pick<Telemetry, "log" | "metrics">;
  readonly deployment: DescribedDeployment;
  /** Dependencies for notifying a sender later that it may deliver. */
  readonly consent: ConsentSender;
  readonly ownAddresses: OwnAddresses;
  /** Whether a proxy forwards the client certificates of senders. */
  readonly takesCertificates: boolean;
  /** Whether no process of the deployment has the role `gateway`. */
  readonly isUnserved: () => boolean;
  readonly limits: PlacesLimits & { readonly sourcesPerTenantMax: number };
}

export interface Gateway extends GatewayServices {
  /** Number of requests whose senders are currently waiting for a webhook. */
  readonly inFlight: () => number;
  /** Called when this process listens on a URL. The gateway may have a separate port. */
  listensAt(url: string, on: { readonly isOwnPort: boolean }): void;
  /** URL of the separate gateway port; null without one. */
  ownUrl(): string | null;
  start(): void;
  /** Stops the gateway and writes pending log rows. */
  stop(): Promise<void>;
}

export function createGateway(options: GatewayOptions): Gateway {
  const { access, store, directory, tenants, secretBox, clock, random } = options;
  const limitedLog = new LimitedLog(clock, options.telemetry.log);
  const telemetry = { log: limitedLog, metrics: options.telemetry.metrics };
  const { ownAddresses, limits } = options;
  const description = describeService(options.deployment);
  const deploymentId = deploymentIdOf(secretBox);
  const box = new VerificationBox(secretBox);
  const log = new RequestLog({ store: store.gateway, clock, log: telemetry.log });
  const effectiveMode = ({ mode, acknowledgement }: Source): GatewayMode =>
    acknowledgement?.version === description.version ? mode : "pass_through";
  const passThrough = new PassThrough({ access, store: store.gateway, clock, telemetry, limits });
  const nextId = (): string => access.nextId();
  const { answers } = store.gateway;
  const deduplication = new ConnectionDeduplication({ answers, clock, telemetry, nextId });
  const changes = new KeyedQueue();
  const shared = { store: store.gateway, directory, access, clock };
  const held = new HeldMessages({ ...shared, history: store.history, changes, log: telemetry.log });
  const deliverer = new Deliverer({
    clock,
    held,
    directory,
    access,
    deduplication,
    passThrough,
    telemetry,
    effectiveMode,
  });
  const requests = new Requests({
    store: store.gateway,
    history: store.history,
    directory,
    box,
    deliverer,
    log,
    access,
    clock,
    deploymentId,
    consent: options.consent,
  });
  const inbound = new GatewayInbound({
    directory,
    box,
    access,
    deliverer,
    requests: log,
    clock,
    telemetry,
    deploymentId,
  });
  let isRunning = false;
  let ownUrl: string | null = null;
  return {
    sources: new Sources({
      store: store.gateway,
      directory,
      box,
      tenants,
      access,
      clock,
      random,
      description,
      log,
      takesCertificates: options.takesCertificates,
      isUnserved: options.isUnserved,
      sourcesPerTenantMax: limits.sourcesPerTenantMax,
    }),
    connections: new Connections({ ...shared, ownAddresses, held, changes }),
    requests,
    filters: new FilterEvaluations({
      store: store.gateway,
      history: store.history,
      directory,
      box,
      requests,
      log,
      clock,
    }),
    // The port may open before the services behind it are running, and close after they stop.
    inbound: {
      refuse: (head) => (isRunning ? inbound.refuse(head) : null),
      handle: async (request) => (isRunning ? inbound.handle(request) : notNow),
    },
    description: () => description,
    inFlight: () => passThrough.inFlight,
    listensAt: (url, { isOwnPort }) => {
      ownAddresses.add(url);
      if (isOwnPort) ownUrl = url;
    },
    ownUrl: () => ownUrl,
    start: () => {
      isRunning = true;
      held.start();
    },
    stop: async () => {
      isRunning = false;
      await Promise.all([log.stop(), held.stop()]);
      limitedLog.stop();
    },
  };
}

/** Derives the deployment's id from a key that all its processes share and no other deployment has. */
function deploymentIdOf(secretBox: SecretBox): string {
  const digest = secretBox.digest("gateway hop");
  return createHash("sha256").update(digest).digest("hex").slice(0, 12);
}

const notNow = refusal("overloaded", "The server is starting or stopping.", { retryAfterSeconds: 5 });
