import { once } from "node:events";
import { createServer } from "node:net";
import type { Settings } from "../config/options.ts";
import { profiles } from "../domain/profiles/index.ts";
import { codeOf, messageOf } from "../domain/thrown.ts";
import type { Gateway } from "../features/gateway/create-gateway.ts";
import type { SourceType } from "../features/gateway/source.ts";
import type { Services } from "../features/services.ts";
import { loginPath } from "../http/dashboard-routes.ts";
import {
  type Api,
  type ApiOptions,
  createApi,
  createInbound,
  createProbes,
  type DashboardFile,
  type Readiness,
} from "../http/server.ts";
import { Sessions } from "../http/dashboard-sessions.ts";
import type { Random } from "../ports/random.ts";
import type { Store } from "../ports/store.ts";
import type { Logger } from "../ports/telemetry.ts";
import { type PresetDescription, presetTable, verificationTypes } from "../receiver/index.ts";
import { systemClock } from "../system/clock.ts";
import type { PrometheusMetrics } from "../system/telemetry/prometheus-metrics.ts";
import { receiverExaminer } from "./examine-receiver.ts";
import type { Keys } from "./keys.ts";
import { isLoopback, type LocalAddress } from "./notification-means.ts";
import { version } from "./version.ts";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/**
 * The verification types of the receiver kit, in the form that the API uses. Providers come first, then schemes; both
 * are sorted by name.
 */
export const sourceTypes: readonly SourceType[] = verificationTypes
  .map(({ type, title, fields }) => ({
    type,
    title,
    fields: Object.entries(fields).map(
      ([name, { kind, isRequired, isSecret, choices = [], description }]) => {
        return { name, kind, isRequired, isSecret, choices, description };
      },
    ),
    provider: providerOf(presetTable.find(({ name }) => name === type)),
  }))
  .toSorted((left, right) => rank(left).localeCompare(rank(right)));

function rank({ provider, type }: SourceType): string {
  return `${provider === null ? 1 : 0} ${type}`;
}

function providerOf(preset: PresetDescription | undefined): SourceType["provider"] {
  if (preset === undefined) return null;
  const { documentation, steps, remarks = [], algorithm, headers, signed, replayProtection } = preset;
  return {
    documentation,
    steps,
    remarks,
    signature: [algorithm, headers.join(", ")].filter((part) => part !== "").join("; "),
    signed,
    replayProtection,
    forwardHeaders: preset.forwardHeaders,
    addressCheck: addressCheckOf(preset),
  };
}

function addressCheckOf({ challenge, probes = [] }: PresetDescription): "get" | "head" | "post" | null {
  if (probes.includes("get")) return "get";
  if (probes.includes("head")) return "head";
  if (probes.includes("validation_token")) return "post";
  if (challenge === null) return null;
  return challenge === "meta" || challenge === "x" ? "get" : "post";
}

/** What the HTTP server of a process needs. */
interface ListenerParts {
  readonly settings: Settings;
  readonly services: Services;
  readonly gateway: Gateway;
  readonly local: LocalAddress;
  readonly store: Store;
  readonly keys: Keys;
  readonly random: Random;
  readonly log: Logger;
  readonly readiness: () => Readiness;
  readonly system: ApiOptions["system"];
  readonly metrics: PrometheusMetrics;
}

interface Listener {
  readonly url: string;
  /** Waits up to `graceMs` for running requests to finish. */
  close(graceMs: number): Promise<void>;
}

interface ApiListener extends Listener {
  /**
   * A link that logs in to the dashboard as administrator. It works once, within five minutes; null without a
   * dashboard.
   */
  loginLink(): string | null;
}

/**
 * Rejects if the API cannot listen, because a process whose API is unreachable would be useless.
 *
 * If other processes can take over, the API keeps serving briefly while closing: `/readyz` reports draining, and
 * keep-alive connections end with a response instead of in the middle of a request.
 */
export async function openApi(parts: ListenerParts): Promise<ApiListener> {
  const { settings, keys, services, random } = parts;
  const { secretBox, adminKey } = keys;
  const sessions = settings.ui
    ? new Sessions({ secretBox, apiKeys: services.apiKeys, clock: systemClock, random })
    : null;
  const dashboard = sessions === null ? null : { sessions, version, files: filesOfPages("ui") };
  const server = await createApi({ ...optionsOf(parts), dashboard });
  const listener = await listen(server, settings);
  if (isLoopback(new URL(listener.url).hostname)) parts.local.url = listener.url;
  const loginLink = () => {
    const code = sessions?.createCode(adminKey).code;
    return code === undefined ? null : `${listener.url}${settings.basePath}/${loginPath(code)}`;
  };
  if (settings.databaseUrl === null) return { ...listener, loginLink };
  return {
    url: listener.url,
    loginLink,
    close: async (graceMs) => {
      const lingerMs = Math.min(lingerMsMax, graceMs / 5);
      server.drain();
      await new Promise<void>((resolve) => void systemClock.schedule(lingerMs, resolve));
      await listener.close(graceMs - lingerMs);
    },
  };
}

/** Gives a load balancer time to query `/readyz` again. */
const lingerMsMax = 3_000;

/**
 * Serves health and metrics for a process without the API. Also serves the inbound requests of the role `gateway`,
 * unless it has a separate port. Null if the port is taken: several workers on one machine do not need a port each, and
 * can deliver without monitoring.
 */
export async function openProbes(parts: ListenerParts): Promise<Listener | null> {
  const { settings, log } = parts;
  try {
    return await listen(await createProbes(optionsOf(parts)), settings);
  } catch (error) {
    // Senders use this port, so the process cannot do without it.
    const takesInbound = settings.roles.includes("gateway") && settings.inboundPort === null;
    if (takesInbound || codeOf(error) !== "EADDRINUSE") throw error;
    log.warn(
      { host: settings.host, port: settings.port },
      "POSTHORN_PORT is taken, so this process runs without /livez, /readyz and /metrics. " +
        "Set a different port to monitor it; 0 picks a free one",
    );
    return null;
  }
}

/** Opens the inbound gateway on a separate port if one is configured, and otherwise on the port of the API. */
export async function openGateway(
  parts: ListenerParts,
  listens: boolean,
  apiUrl: string | null,
): Promise<{ readonly url: string | null; close(graceMs: number): Promise<void> }> {
  const { settings, gateway } = parts;
  const port = listens && settings.roles.includes("gateway") ? settings.inboundPort : null;
  const listener =
    port === null ? null : await listen(await createInbound(optionsOf(parts)), { ...settings, port });
  if (apiUrl !== null) gateway.listensAt(apiUrl, { isOwnPort: false });
  if (listener !== null) gateway.listensAt(listener.url, { isOwnPort: true });
  gateway.start();
  const close = async (graceMs: number): Promise<void> => {
    await listener?.close(graceMs);
    await gateway.stop();
  };
  return { url: listener?.url ?? null, close };
}

async function listen(server: Api, { host: wanted, port }: Settings): Promise<Listener> {
  try {
    const host = wanted === anyAddress && !(await hasIpv6()) ? anyIpv4Address : wanted;
    const { url } = await server.listen(host, port);
    // As with 0.0.0.0, show an address that browsers accept.
    const shown = url.replace(`//[${anyAddress}]`, "//127.0.0.1");
    return { url: shown, close: (graceMs) => server.close(graceMs) };
  } catch (error) {
    await server.close(0);
    throw error;
  }
}

/** Listens on all addresses of both families. */
const anyAddress = "::";
const anyIpv4Address = "0.0.0.0";

/** Listening on `::` fails on kernels without IPv6. */
async function hasIpv6(): Promise<boolean> {
  const probe = createServer();
  try {
    probe.listen(0, anyAddress);
    await once(probe, "listening");
    return true;
  } catch (error) {
    return !["EAFNOSUPPORT", "EADDRNOTAVAIL", "EINVAL"].includes(codeOf(error) ?? "");
  } finally {
    probe.close();
  }
}

function optionsOf(parts: ListenerParts): ApiOptions {
  const { settings, services, gateway, store, keys, random, log, readiness, system, metrics } = parts;
  return {
    services,
    gateway,
    inboundUrl: () => inboundUrlOf(settings) ?? gateway.ownUrl(),
    clientCertificates:
      settings.clientCertificateHeader === null
        ? null
        : { header: settings.clientCertificateHeader, trustedProxies: settings.trustedProxies },
    trustedProxies: settings.trustedProxies,
    takesInbound: settings.roles.includes("gateway") && settings.inboundPort === null,
    store,
    secretBox: keys.secretBox,
    clock: systemClock,
    random,
    log,
    metrics: metrics.metrics,
    limits: { payloadBytesMax: settings.payloadBytesMax, connectionsMax: settings.maxConnections },
    callRates: {
      keyCallsPerMinute: settings.apiKeyCallsPerMinute,
      tenantCallsPerMinute: settings.apiTenantCallsPerMinute,
      keyPublishesPerMinute: settings.apiKeyPublishesPerMinute,
      tenantPublishesPerMinute: settings.apiTenantPublishesPerMinute,
    },
    readiness,
    system,
    metricsText: () => metrics.text(),
    profiles,
    sourceTypes,
    cursorKey: keys.cursorKey,
    dev: settings.dev,
    version,
    basePath: settings.basePath,
    examineReceiver: receiverExaminer(settings),
    portal: settings.portal
      ? { publicUrl: settings.publicUrl, origins: settings.portalOrigins, files: filesOfPages("portal") }
      : null,
    logRequests: settings.logLevel === "debug",
  };
}

/** Null if the URL is known only to the process that listens. */
function inboundUrlOf({ inboundUrl, publicUrl, inboundPort, host }: Settings): string | null {
  if (inboundUrl !== null) return inboundUrl;
  if (publicUrl !== null) return publicUrl;
  const name = host.includes(":") ? `[${host}]` : host;
  return inboundPort === null || inboundPort === 0 ? null : `http://${name}:${inboundPort}`;
}

/**
 * The files of the dashboard and of the portal. In the package, they were built by `npm run build` and are next to the
 * code. If Posthorn runs from source, they are bundled in memory on first use, which takes a moment.
 */

const builtFolder = (pages: Pages): string => join(import.meta.dirname, "..", pages);
const bundler = join(import.meta.dirname, "..", "..", "scripts", "bundle-dashboard.ts");

/** Folder name in the package. */
type Pages = "ui" | "portal";
type Files = ReadonlyMap<string, DashboardFile>;

/** Reads or bundles the files once and retries after a failure. Rejects with a human-readable reason. */
function filesOfPages(pages: Pages): () => Promise<Files> {
  let loading: Promise<Files> | null = null;
  return () => {
    loading ??= load(pages).catch((error: unknown) => {
      loading = null;
      throw error;
    });
    return loading;
  };
}

async function load(pages: Pages): Promise<Files> {
  const folder = builtFolder(pages);
  const texts = existsSync(folder) ? readBuilt(folder) : await bundle(pages);
  return new Map([...texts].map(([path, body]) => [path, fileOf(path, body)]));
}

function readBuilt(folder: string): ReadonlyMap<string, Uint8Array> {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return new Map(
    paths
      .filter((path) => extname(path) in contentTypes)
      .map((path) => [path.replaceAll("\\", "/"), readFileSync(join(folder, path))]),
  );
}

async function bundle(pages: Pages): Promise<ReadonlyMap<string, Uint8Array>> {
  try {
    // The bundler is not part of the package, which contains the built files instead.
    const module = (await import(pathToFileURL(bundler).href)) as {
      bundlePages(pages: Pages): Promise<ReadonlyMap<string, Uint8Array>>;
    };
    return await module.bundlePages(pages);
  } catch (error) {
    throw new Error(`The pages could not be bundled: ${messageOf(error)}`, { cause: error });
  }
}

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** A fast level whose result is within a few percent of the smallest size. */
const brotliQuality = 9;

function fileOf(path: string, body: Uint8Array): DashboardFile {
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality };
  return {
    contentType: contentTypes[extname(path)] ?? "application/octet-stream",
    body,
    encodings:
      path === "index.html" ? {} : { br: brotliCompressSync(body, { params }), gzip: gzipSync(body) },
  };
}
