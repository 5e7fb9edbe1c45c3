import { option } from "./option.ts";
import {
  basePath,
  milliseconds,
  originName,
  publicUrl,
  type Role,
  roleList,
  roles,
  shortName,
} from "./setting-kinds.ts";
import { flag, integer, optionalInteger, text } from "./value-kinds.ts";

/** Addresses, roles and limits of the server. */
export const server = {
  host: option({
    env: "POSTHORN_HOST",
    group: "Server",
    description:
      "Address to listen on. Use `::` to accept connections from other machines over IPv4 and IPv6, `0.0.0.0` for IPv4 alone.",
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
      "Which parts this process runs: `api` serves HTTP, `worker` delivers, `scheduler` expires and cleans up, " +
      "`gateway` takes what others send. With " +
      "PostgreSQL any number of processes run any of them. Embedded there is one process, and `scheduler` and " +
      "`worker` go together: with `api` alone events are accepted and kept, with `scheduler,worker` alone the " +
      "backlog is delivered without an API.",
    kind: roleList,
    fallback: roles,
  }),
  inboundPort: option<number | null>({
    env: "POSTHORN_INBOUND_PORT",
    group: "Server",
    description:
      "Port on which the role `gateway` takes what others send, so that the API need not be public; 0 takes a free one. " +
      "Unset: on `POSTHORN_PORT`.",
    kind: optionalInteger({ min: 0, max: 65_535, unit: null }),
    fallback: null,
    fallbackText: "unset: beside the API",
  }),
  inboundUrl: option({
    env: "POSTHORN_INBOUND_URL",
    group: "Server",
    description:
      "Where the addresses of sources are reached from outside, such as `https://in.example.com`, where that is not `POSTHORN_PUBLIC_URL`.",
    kind: publicUrl,
    fallback: null,
    fallbackText: "`POSTHORN_PUBLIC_URL`",
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
  ui: option({
    env: "POSTHORN_UI",
    group: "Server",
    description: "Serve the operator dashboard at `/ui`, where `/` leads too.",
    kind: flag,
    fallback: true,
  }),
  basePath: option({
    env: "POSTHORN_BASE_PATH",
    group: "Server",
    description:
      "Path below which a proxy passes requests on without taking it away, such as `/hooks`. Leave it empty where the proxy takes the path away.",
    kind: basePath,
    fallback: "",
    fallbackText: "none",
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
      "Connections that callers may hold open to this process. A further one replaces one that sent no request or is idle; " +
      "where all are busy, it is refused, except for 16 that may ask for `/livez`, `/readyz` and `/metrics`. Together with twice " +
      "`POSTHORN_CONCURRENCY`, `POSTHORN_WAITING_REQUESTS` and some fifty files they must stay below the limit of file " +
      "descriptors (`ulimit -n`).",
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
