import type { Option, OptionGroup } from "./option.ts";
import {
  callsPerMinute,
  cidr,
  days,
  milliseconds,
  shortName,
  originName,
  proxyUrl,
  publicUrl,
  type Role,
  roleList,
  roles,
  secretList,
} from "./setting-kinds.ts";
import { flag, integer, oneOf, optionalInteger, optionalText, text } from "./value-kinds.ts";

const dayMs = 86_400_000;

function option<Value>(given: Option<Value>): Option<Value> {
  return given;
}

const server = {
  host: option({
    env: "POSTHORN_HOST",
    group: "Server",
    description: "Address to listen on. Use `0.0.0.0` to accept connections from other machines.",
    kind: text,
    fallback: "127.0.0.1",
  }),
  port: option({
    env: "POSTHORN_PORT",
    group: "Server",
    description:
      "Port to listen on; 0 takes a free one. A process without the role `api` answers its probes and metrics there, " +
      "and goes without them when the port is taken.",
    kind: integer({ min: 0, max: 65_535, unit: null }),
    fallback: 8080,
  }),
  publicUrl: option({
    env: "POSTHORN_PUBLIC_URL",
    group: "Server",
    description:
      "Where this server is reached from outside, such as `https://hooks.example.com`. Receivers get callback URLs below it; without it none are offered.",
    kind: publicUrl,
    fallback: null,
    fallbackText: "unset: no callback URLs",
  }),
  origin: option({
    env: "POSTHORN_ORIGIN",
    group: "Server",
    description:
      "Name under which receivers know this system, as a DNS name: `WebHook-Request-Origin` of CloudEvents. It names the system, not a machine; receivers may permit by it, so keep it.",
    kind: originName,
    fallback: null,
    fallbackText: "the host of `POSTHORN_PUBLIC_URL`, else `posthorn.invalid`",
  }),
  roles: option<readonly Role[]>({
    env: "POSTHORN_ROLES",
    group: "Server",
    description:
      "Which parts this process runs: `api` serves HTTP, `worker` delivers, `scheduler` expires and cleans up. With " +
      "PostgreSQL any number of processes run any of them. Embedded there is one process, and `scheduler` and " +
      "`worker` go together: with `api` alone events are accepted and kept, with `scheduler,worker` alone the " +
      "backlog is delivered without an API.",
    kind: roleList,
    fallback: roles,
  }),
  workerPool: option({
    env: "POSTHORN_WORKER_POOL",
    group: "Server",
    description:
      "The pool that a `worker` of this process belongs to. It serves the tenants whose `worker_pool` is this one, and " +
      "no others; `default` serves all that have none.",
    kind: shortName,
    fallback: "default",
  }),
  dev: option({
    env: "POSTHORN_DEV",
    group: "Server",
    description:
      "Development mode: `http` URLs and targets on this machine are allowed, nothing else is relaxed. Refused unless the host is a loopback address.",
    kind: flag,
    fallback: false,
  }),
  maxConnections: option({
    env: "POSTHORN_MAX_CONNECTIONS",
    group: "Server",
    description:
      "Connections that callers may hold open to this process; further ones are closed at once. Together with twice " +
      "`POSTHORN_CONCURRENCY` and some fifty files they must stay below the limit of file descriptors (`ulimit -n`).",
    kind: integer({ min: 1, max: 100_000, unit: "connections" }),
    fallback: 2_000,
  }),
  shutdownGraceMs: option({
    env: "POSTHORN_SHUTDOWN_GRACE_MS",
    group: "Server",
    description:
      "How long running requests may take to finish at shutdown; what is left is delivered after the next start.",
    kind: milliseconds({ min: 0, max: 600_000 }),
    fallback: 30_000,
  }),
} as const;

const storage = {
  dataDir: option({
    env: "POSTHORN_DATA_DIR",
    group: "Storage",
    description: "Folder of the SQLite files and of generated keys. Made with mode 0700 when it is missing.",
    kind: text,
    fallback: "./data",
  }),
  databaseUrl: option({
    env: "POSTHORN_DATABASE_URL",
    group: "Storage",
    description:
      "PostgreSQL (15 or later) instead of SQLite, such as `postgres://user:password@host:5432/name`. Several " +
      "processes may share it. Needs `POSTHORN_MASTER_KEY`, the same in all of them.",
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: SQLite",
    secret: true,
  }),
  databaseDirectUrl: option({
    env: "POSTHORN_DATABASE_DIRECT_URL",
    group: "Storage",
    description:
      "The same database without the pooler that `POSTHORN_DATABASE_URL` leads to, for notifications and migrations; " +
      "`none` where there is no way past it, which costs up to a second before a worker sees new events.",
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: there is no pooler",
    secret: true,
  }),
  databaseConnections: option({
    env: "POSTHORN_DATABASE_CONNECTIONS",
    group: "Storage",
    description:
      "Connections to PostgreSQL that this process holds at most: one listens, a quarter is for people and upkeep, the " +
      "rest for events. All processes together must stay below `max_connections` of the server.",
    kind: integer({ min: 3, max: 100, unit: "connections" }),
    fallback: 12,
  }),
  queueUrl: option({
    env: "POSTHORN_QUEUE_URL",
    group: "Storage",
    description:
      "RabbitMQ (3.10 or later), such as `amqp://user:password@host:5672/vhost` or `amqps://…`: tells workers where work " +
      "is. Needs `POSTHORN_DATABASE_URL`, which holds the work; what the broker loses is announced again. Parameters " +
      "`cacertfile`, `certfile` and `keyfile` name files for TLS, `heartbeat` is in seconds.",
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: the store",
    secret: true,
  }),
  queuePrefix: option({
    env: "POSTHORN_QUEUE_PREFIX",
    group: "Storage",
    description:
      "Begins the names of all queues and exchanges, so that deployments can share a virtual host.",
    kind: shortName,
    fallback: "posthorn",
  }),
  redisUrl: option({
    env: "POSTHORN_REDIS_URL",
    group: "Storage",
    description:
      "Redis (6.2 or later) or Valkey, such as `redis://user:password@host:6379/0` or `rediss://…`: what workers share " +
      "beside the store and may be lost, such as the limits of tenants. Needs `POSTHORN_DATABASE_URL`.",
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: in process",
    secret: true,
  }),
  redisPrefix: option({
    env: "POSTHORN_REDIS_PREFIX",
    group: "Storage",
    description: "Begins the names of all keys and channels, so that deployments can share a server.",
    kind: shortName,
    fallback: "posthorn",
  }),
} as const;

const security = {
  adminKey: option({
    env: "POSTHORN_ADMIN_KEY",
    group: "Security",
    description: "API key of the administrator, at least 24 characters.",
    kind: optionalText,
    fallback: null,
    fallbackText: "generated into `admin.key` of the data folder",
    secret: true,
  }),
  masterKey: option({
    env: "POSTHORN_MASTER_KEY",
    group: "Security",
    description:
      "Encrypts stored secrets: 32 bytes as base64 or hex, for example from `openssl rand -base64 32`.",
    kind: optionalText,
    fallback: null,
    fallbackText: "generated into `master.key` of the data folder; required with PostgreSQL",
    secret: true,
  }),
  masterKeyPrevious: option<readonly string[]>({
    env: "POSTHORN_MASTER_KEY_PREVIOUS",
    group: "Security",
    description: "Earlier master keys, which still open what they sealed.",
    kind: secretList,
    fallback: [],
    secret: true,
  }),
  egressAllow: option<readonly string[]>({
    env: "POSTHORN_EGRESS_ALLOW",
    group: "Security",
    description:
      "Blocks of addresses that webhooks may use although they are not public, such as `10.20.0.0/16`.",
    kind: cidr,
    fallback: [],
  }),
  egressAllowHttp: option({
    env: "POSTHORN_EGRESS_ALLOW_HTTP",
    group: "Security",
    description: "Accept `http` URLs of webhooks.",
    kind: flag,
    fallback: false,
  }),
  egressProxy: option({
    env: "POSTHORN_EGRESS_PROXY",
    group: "Security",
    description: "HTTP CONNECT proxy through which every delivery goes. The proxy resolves names.",
    kind: proxyUrl,
    fallback: null,
    secret: true,
  }),
} as const;

const api = {
  apiKeyCallsPerMinute: option({
    env: "POSTHORN_API_KEY_CALLS_PER_MINUTE",
    group: "API",
    description:
      "Calls with one API key, other than publishing; 0 or `none` is no limit. Calls beyond it get 429. Keys of administrators have no limit. Each process counts for itself.",
    kind: callsPerMinute,
    fallback: 1_000,
  }),
  apiTenantCallsPerMinute: option({
    env: "POSTHORN_API_TENANT_CALLS_PER_MINUTE",
    group: "API",
    description: "The same over all keys of a tenant.",
    kind: callsPerMinute,
    fallback: 5_000,
  }),
  apiKeyPublishesPerMinute: option({
    env: "POSTHORN_API_KEY_PUBLISHES_PER_MINUTE",
    group: "API",
    description:
      "Calls that publish, with one API key; 0 or `none` is no limit. A batch of up to 1,000 events is one call.",
    kind: callsPerMinute,
    fallback: 60_000,
  }),
  apiTenantPublishesPerMinute: option({
    env: "POSTHORN_API_TENANT_PUBLISHES_PER_MINUTE",
    group: "API",
    description: "The same over all keys of a tenant.",
    kind: callsPerMinute,
    fallback: 120_000,
  }),
} as const;

const delivery = {
  payloadBytesMax: option({
    env: "POSTHORN_MAX_PAYLOAD_BYTES",
    group: "Delivery",
    description: "Largest `data` of an event, as published. Above 20,000 a metric counts it as large.",
    kind: integer({ min: 1_024, max: 16_777_216, unit: "bytes" }),
    fallback: 262_144,
  }),
  concurrency: option({
    env: "POSTHORN_CONCURRENCY",
    group: "Delivery",
    description: "Requests in flight of this process.",
    kind: integer({ min: 1, max: 10_000, unit: "requests" }),
    fallback: 100,
  }),
  webhookConcurrency: option({
    env: "POSTHORN_WEBHOOK_CONCURRENCY",
    group: "Delivery",
    description: "Requests in flight per webhook.",
    kind: integer({ min: 1, max: 1_000, unit: "requests" }),
    fallback: 5,
  }),
  hostConcurrency: option({
    env: "POSTHORN_HOST_CONCURRENCY",
    group: "Delivery",
    description:
      "Requests in flight of this process to one host (name and port of the webhook's URL), over all webhooks there.",
    kind: optionalInteger({ min: 1, max: 10_000, unit: "requests" }),
    fallback: null,
    fallbackText: "unset: no limit",
  }),
  leaseMs: option({
    env: "POSTHORN_LEASE_MS",
    group: "Delivery",
    description:
      "How long a delivery belongs to a process that may have crashed. Longer than the longest request, which is 90 s.",
    kind: milliseconds({ min: 1_000, max: 3_600_000 }),
    fallback: 300_000,
  }),
  commitWindowMs: option({
    env: "POSTHORN_COMMIT_WINDOW_MS",
    group: "Delivery",
    description: "Longest time that writes wait for each other under load; idle, they never wait.",
    kind: milliseconds({ min: 0, max: 1_000 }),
    fallback: 20,
  }),
  bufferBytesMax: option({
    env: "POSTHORN_BUFFER_BYTES",
    group: "Delivery",
    description: "Payloads held in memory for requests to come.",
    kind: integer({ min: 1_048_576, max: 4_294_967_296, unit: "bytes" }),
    fallback: 67_108_864,
  }),
} as const;

const retention = {
  retentionPayloadDays: option({
    env: "POSTHORN_RETENTION_PAYLOAD_DAYS",
    group: "Retention",
    description: "Payloads are removed after this; a delivery that still waits keeps its own.",
    kind: days,
    fallback: 30,
  }),
  retentionHistoryDays: option({
    env: "POSTHORN_RETENTION_HISTORY_DAYS",
    group: "Retention",
    description: "Events, deliveries and attempts are removed after this.",
    kind: days,
    fallback: 90,
  }),
} as const;

const logging = {
  logLevel: option({
    env: "POSTHORN_LOG_LEVEL",
    group: "Logging",
    description: "The least important lines to write. `debug` also writes one line a request to the API.",
    kind: oneOf(["debug", "info", "warn", "error"]),
    fallback: "info" as const,
  }),
  logFormat: option({
    env: "POSTHORN_LOG_FORMAT",
    group: "Logging",
    description: "`text` for people, `json` for machines, `auto` for text on a terminal and else json.",
    kind: oneOf(["auto", "text", "json"]),
    fallback: "auto" as const,
  }),
} as const;

/** Every setting of the program. */
export const options = {
  ...server,
  ...storage,
  ...security,
  ...api,
  ...delivery,
  ...retention,
  ...logging,
} as const;

/** Name of a setting in code. */
export type OptionName = keyof typeof options;
/** Effective settings, as {@link options} declares them. */
export type Settings = {
  readonly [Name in OptionName]: (typeof options)[Name] extends Option<infer Value> ? Value : never;
};

/** Days of retention in the unit of the engine. */
export function daysToMs(count: number): number {
  return count * dayMs;
}

/** Name and declaration of every setting, in the order of the documentation. */
export const optionEntries = Object.entries(options) as readonly (readonly [OptionName, Option])[];

/** Settings of one heading. */
export function optionsOf(group: OptionGroup): readonly (readonly [OptionName, Option])[] {
  return optionEntries.filter(([, { group: own }]) => own === group);
}
