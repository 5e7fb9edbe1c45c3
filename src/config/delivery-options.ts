/** Delivery settings: allowed targets, concurrency, and keys. */
import { option } from "./option.ts";
import {
  cidr,
  flag,
  integer,
  integerOrAuto,
  milliseconds,
  optionalInteger,
  optionalText,
  proxyUrl,
  secretList,
} from "./setting-kinds.ts";

/** Keys and allowed targets. */
export const security = {
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
    description: "Earlier master keys, still used to decrypt existing secrets.",
    kind: secretList,
    fallback: [],
    secret: true,
  }),
  egressAllow: option<readonly string[]>({
    env: "POSTHORN_EGRESS_ALLOW",
    group: "Security",
    description: "CIDR blocks of private addresses that webhooks may use, such as `10.20.0.0/16`.",
    kind: cidr,
    fallback: [],
  }),
  egressAllowHttp: option({
    env: "POSTHORN_EGRESS_ALLOW_HTTP",
    group: "Security",
    description: "Accept `http` URLs for webhooks.",
    kind: flag,
    fallback: false,
  }),
  egressProxy: option({
    env: "POSTHORN_EGRESS_PROXY",
    group: "Security",
    description:
      "HTTP CONNECT proxy for all deliveries, such as `http://user:password@proxy.example:3128`, or `https://…` for a proxy with TLS. The proxy resolves names.",
    kind: proxyUrl,
    fallback: null,
    secret: true,
  }),
} as const;

/** Sizes, concurrency, timeouts and memory. */
export const delivery = {
  payloadBytesMax: option({
    env: "POSTHORN_MAX_PAYLOAD_BYTES",
    group: "Delivery",
    description:
      "Maximum size of the `data` of an event, as published. A metric counts events above 20,000 bytes as large.",
    kind: integer({ min: 1_024, max: 16_777_216, unit: "bytes" }),
    fallback: 262_144,
  }),
  concurrency: option({
    env: "POSTHORN_CONCURRENCY",
    group: "Delivery",
    description:
      "Maximum number of active requests of this process: requests that have waited for less than a second. The same number of idle connections " +
      "is kept, or up to 1,000 if the descriptor limit allows it.",
    kind: integer({ min: 1, max: 10_000, unit: "requests" }),
    fallback: 100,
  }),
  waitingRequests: option({
    env: "POSTHORN_WAITING_REQUESTS",
    group: "Delivery",
    description:
      "Maximum number of requests of this process that have waited for more than a second, including messages that the gateway passes through. " +
      "They use a socket but no CPU time, so they do not count in `POSTHORN_CONCURRENCY`; those older than five seconds may use " +
      "three quarters of these slots. A request with a large body counts once for every 64 KiB. If all slots are used, " +
      "requests stay active. Fewer slots are used if the descriptor limit does not allow this many; 0 keeps all requests active.",
    kind: integer({ min: 0, max: 100_000, unit: "requests" }),
    fallback: 1_000,
  }),
  webhookConcurrency: option({
    env: "POSTHORN_WEBHOOK_CONCURRENCY",
    group: "Delivery",
    description: "Maximum number of requests in flight per webhook, including waiting requests.",
    kind: integer({ min: 1, max: 1_000, unit: "requests" }),
    fallback: 5,
  }),
  hostConcurrency: option({
    env: "POSTHORN_HOST_CONCURRENCY",
    group: "Delivery",
    description:
      "Maximum number of active requests of this process to one host (name and port of the webhook's URL), for all webhooks with that host.",
    kind: optionalInteger({ min: 1, max: 10_000, unit: "requests" }),
    fallback: null,
    fallbackText: "unset: no limit",
  }),
  senderThreads: option({
    env: "POSTHORN_SENDER_THREADS",
    group: "Delivery",
    description:
      "Threads that resolve names, connect and send, so that this work does not block the API and the store. `auto` is one " +
      "less than the number of cores, up to four. With two cores, plain HTTP stays on the main thread; with one core, or if set to 0, everything does.",
    kind: integerOrAuto({ min: 0, max: 64, unit: "threads" }),
    fallback: null,
    fallbackText: "auto",
  }),
  leaseMs: option({
    env: "POSTHORN_LEASE_MS",
    group: "Delivery",
    description:
      "How long a delivery stays leased to a process that may have crashed. Must be longer than the longest request (90 s).",
    kind: milliseconds(1_000, 3_600_000),
    fallback: 300_000,
  }),
  commitWindowMs: option({
    env: "POSTHORN_COMMIT_WINDOW_MS",
    group: "Delivery",
    description:
      "Maximum time that writes wait under load to be grouped, and that the result of a request waits for another write. " +
      "Without load, a publish never waits. Deliveries completed within this time before a crash are sent again.",
    kind: milliseconds(0, 1_000),
    fallback: 20,
  }),
  bufferBytesMax: option({
    env: "POSTHORN_BUFFER_BYTES",
    group: "Delivery",
    description: "Maximum size of the payloads buffered in memory for upcoming requests.",
    kind: integer({ min: 1_048_576, max: 4_294_967_296, unit: "bytes" }),
    fallback: 67_108_864,
  }),
} as const;
