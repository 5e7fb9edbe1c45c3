/** Storage and retention settings. */
import { option } from "./option.ts";
import { days, flag, integer, oneOf, optionalText, shortName, text } from "./setting-kinds.ts";

/** The data folder, or the servers that store the data. */
export const storage = {
  dataDir: option({
    env: "POSTHORN_DATA_DIR",
    group: "Storage",
    description: "Folder of the SQLite files and of generated keys. Created with mode 0700 if it is missing.",
    kind: text,
    fallback: "./data",
  }),
  databaseUrl: option({
    env: "POSTHORN_DATABASE_URL",
    group: "Storage",
    description:
      "PostgreSQL (15 or later) instead of SQLite, such as `postgres://user:password@host:5432/name`. Several " +
      "processes may share it. Requires the same `POSTHORN_MASTER_KEY` in all of them.",
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: SQLite",
    secret: true,
  }),
  databaseDirectUrl: option({
    env: "POSTHORN_DATABASE_DIRECT_URL",
    group: "Storage",
    description:
      "Direct URL of the same database if `POSTHORN_DATABASE_URL` points to a pooler, for notifications and migrations; " +
      "`none` if there is no direct connection. In that case, new events and configuration changes from other " +
      "processes take up to a second to arrive.",
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: no pooler",
    secret: true,
  }),
  databaseConnections: option({
    env: "POSTHORN_DATABASE_CONNECTIONS",
    group: "Storage",
    description:
      "Maximum number of PostgreSQL connections of this process: one listens, a quarter is for API reads and upkeep, the " +
      "rest for events. All processes together must stay below `max_connections` of the server.",
    kind: integer({ min: 3, max: 100, unit: "connections" }),
    fallback: 12,
  }),
  databasePreparedStatements: option({
    env: "POSTHORN_DATABASE_PREPARED_STATEMENTS",
    group: "Storage",
    description:
      "Whether the statements of the event path are prepared once per connection: `auto` if connections go directly to the " +
      "server, `on` also through a pooler that supports it (PgBouncer from 1.21, `max_prepared_statements`), `off` never.",
    kind: oneOf(["auto", "on", "off"]),
    fallback: "auto" as const,
  }),
  queueUrl: option({
    env: "POSTHORN_QUEUE_URL",
    group: "Storage",
    description:
      "RabbitMQ (3.10 or later), such as `amqp://user:password@host:5672/vhost` or `amqps://…`: sends hints about work to " +
      "workers. Requires `POSTHORN_DATABASE_URL`, which stores the work; hints that the broker loses are sent again. Parameters " +
      "`cacertfile`, `certfile` and `keyfile` are file names for TLS, `heartbeat` is in seconds.",
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: the store",
    secret: true,
  }),
  queuePrefix: option({
    env: "POSTHORN_QUEUE_PREFIX",
    group: "Storage",
    description: "Prefix of all queue and exchange names, so that deployments can share a virtual host.",
    kind: shortName,
    fallback: "posthorn",
  }),
  redisUrl: option({
    env: "POSTHORN_REDIS_URL",
    group: "Storage",
    description:
      "Redis (6.2 or later) or Valkey, such as `redis://user:password@host:6379/0` or `rediss://…`: for state that workers share " +
      "in addition to the store and that may be lost, such as tenant limits. Requires `POSTHORN_DATABASE_URL`.",
    kind: optionalText,
    fallback: null,
    fallbackText: "unset: in process",
    secret: true,
  }),
  redisPrefix: option({
    env: "POSTHORN_REDIS_PREFIX",
    group: "Storage",
    description: "Prefix of all key and channel names, so that deployments can share a server.",
    kind: shortName,
    fallback: "posthorn",
  }),
} as const;

/** Settings that determine when data is removed. */
export const retention = {
  retentionPayloadDays: option({
    env: "POSTHORN_RETENTION_PAYLOAD_DAYS",
    group: "Retention",
    description: "Payloads are removed after this time, unless a delivery is still waiting.",
    kind: days,
    fallback: 30,
  }),
  retentionHistoryDays: option({
    env: "POSTHORN_RETENTION_HISTORY_DAYS",
    group: "Retention",
    description: "Events, deliveries and attempts are removed after this time.",
    kind: days,
    fallback: 90,
  }),
  auditDays: option({
    env: "POSTHORN_AUDIT_DAYS",
    group: "Retention",
    description: "Rows of the audit log are removed after this time.",
    kind: days,
    fallback: 400,
  }),
  stats: option({
    env: "POSTHORN_STATS",
    group: "Retention",
    description: "Counts deliveries and events by minute, hour and day for `GET /v1/stats/*`.",
    kind: flag,
    fallback: true,
  }),
  statsMinuteHours: option({
    env: "POSTHORN_STATS_MINUTE_HOURS",
    group: "Retention",
    description: "Statistics by minute are removed after this time.",
    kind: integer({ min: 3, max: 8_760, unit: "hours" }),
    fallback: 48,
  }),
  statsHourDays: option({
    env: "POSTHORN_STATS_HOUR_DAYS",
    group: "Retention",
    description: "Statistics by hour are removed after this time.",
    kind: integer({ min: 3, max: 3_650, unit: "days" }),
    fallback: 35,
  }),
  statsDayDays: option({
    env: "POSTHORN_STATS_DAY_DAYS",
    group: "Retention",
    description: "Statistics by day are removed after this time.",
    kind: integer({ min: 3, max: 36_500, unit: "days" }),
    fallback: 800,
  }),
} as const;
