import { option } from "./option.ts";
import {
  basePath,
  flag,
  integer,
  milliseconds,
  optionalInteger,
  originName,
  publicUrl,
  type Role,
  roleList,
  roles,
  shortName,
  text,
} from "./setting-kinds.ts";

/** Addresses, roles and limits of the server. */
export const server = {
  host: option({
    env: "POSTHORN_HOST",
    group: "Server",
    description:
      "Address to listen on. Use `::` to accept connections from other machines over IPv4 and IPv6, `0.0.0.0` for IPv4 only.",
    kind: text,
    fallback: "127.0.0.1",
  }),
  port: option({
    env: "POSTHORN_PORT",
    group: "Server",
    description:
      "Port to listen on; 0 picks a free one. A process without the `api` role serves its probes and metrics there, " +
      "and runs without them if the port is taken.",
    kind: integer({ min: 0, max: 65_535, unit: null }),
    fallback: 8080,
  }),
  publicUrl: option({
    env: "POSTHORN_PUBLIC_URL",
    group: "Server",
    description:
      "Public URL of this server, such as `https://hooks.example.com`. It is the base of callback URLs for receivers; without it, no callback URLs are offered.",
    kind: publicUrl,
    fallback: null,
    fallbackText: "unset: no callback URLs",
  }),
  origin: option({
    env: "POSTHORN_ORIGIN",
    group: "Server",
    description:
      "DNS name that identifies this system to receivers: `WebHook-Request-Origin` of CloudEvents. It identifies the system, not a machine; receivers may use it in allowlists, so do not change it.",
    kind: originName,
    fallback: null,
    fallbackText: "the host of `POSTHORN_PUBLIC_URL`, or `posthorn.invalid`",
  }),
  roles: option<readonly Role[]>({
    env: "POSTHORN_ROLES",
    group: "Server",
    description:
      "Which parts this process runs: `api` serves HTTP, `worker` delivers, `scheduler` expires and cleans up, " +
      "`gateway` receives messages from senders. With " +
      "PostgreSQL, any number of processes can run any of these roles. With SQLite there is one process, and `scheduler` and " +
      "`worker` must be combined: with `api` only, events are accepted and stored; with `scheduler,worker` only, the " +
      "backlog is delivered without an API.",
    kind: roleList,
    fallback: roles,
  }),
  inboundPort: option<number | null>({
    env: "POSTHORN_INBOUND_PORT",
    group: "Server",
    description:
      "Separate port for the `gateway` role, so that the API need not be public; 0 picks a free one. " +
      "Unset: on `POSTHORN_PORT`.",
    kind: optionalInteger({ min: 0, max: 65_535, unit: null }),
    fallback: null,
    fallbackText: "unset: on the API port",
  }),
  inboundUrl: option({
    env: "POSTHORN_INBOUND_URL",
    group: "Server",
    description:
      "Public base URL of source addresses, such as `https://in.example.com`, if it differs from `POSTHORN_PUBLIC_URL`.",
    kind: publicUrl,
    fallback: null,
    fallbackText: "`POSTHORN_PUBLIC_URL`",
  }),
  workerPool: option({
    env: "POSTHORN_WORKER_POOL",
    group: "Server",
    description:
      "The pool of the `worker` in this process. It serves the tenants with this `worker_pool`, and " +
      "no other tenants; `default` serves all tenants without a pool.",
    kind: shortName,
    fallback: "default",
  }),
  ui: option({
    env: "POSTHORN_UI",
    group: "Server",
    description: "Serve the operator dashboard at `/ui`; `/` redirects there.",
    kind: flag,
    fallback: true,
  }),
  basePath: option({
    env: "POSTHORN_BASE_PATH",
    group: "Server",
    description:
      "Path prefix that a proxy forwards without stripping it, such as `/hooks`. Leave it empty if the proxy strips the prefix.",
    kind: basePath,
    fallback: "",
    fallbackText: "none",
  }),
  dev: option({
    env: "POSTHORN_DEV",
    group: "Server",
    description:
      "Development mode: allows `http` URLs and targets on this machine; all other rules still apply. Requires a loopback address as host.",
    kind: flag,
    fallback: false,
  }),
  maxConnections: option({
    env: "POSTHORN_MAX_CONNECTIONS",
    group: "Server",
    description:
      "Maximum number of open client connections. A new connection beyond the limit replaces one that is idle or sent no request; " +
      "if all are busy, it is refused, except for 16 reserved for `/livez`, `/readyz` and `/metrics`. Together with twice " +
      "`POSTHORN_CONCURRENCY`, `POSTHORN_WAITING_REQUESTS` and about fifty files they must stay below the limit of file " +
      "descriptors (`ulimit -n`).",
    kind: integer({ min: 1, max: 100_000, unit: "connections" }),
    fallback: 2_000,
  }),
  shutdownGraceMs: option({
    env: "POSTHORN_SHUTDOWN_GRACE_MS",
    group: "Server",
    description:
      "Time that running requests have to finish at shutdown; unfinished deliveries are sent after the next start.",
    kind: milliseconds(0, 600_000),
    fallback: 30_000,
  }),
} as const;
