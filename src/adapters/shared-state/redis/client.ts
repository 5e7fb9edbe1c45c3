import type { LookupFunction } from "node:net";
import type * as redis from "redis";
import type { Address } from "./address.ts";
import { scripts } from "./scripts.ts";

type Driver = typeof redis;
// oxlint-disable-next-line no-generated-empty-object-type -- no modules, no functions: what the driver's type asks for
type None = Record<never, never>;
type Defined<Script> = Script & { readonly SHA1: string };
type Scripts = { readonly [Name in keyof typeof scripts]: Defined<(typeof scripts)[Name]> };
/** Written out, because the inferred type can be named only if the driver is installed in a certain place. */
export type RedisClient = redis.RedisClientType<None, None, Scripts, 2>;

/** Loads redis when a shared state is opened. Installations without Redis never need it. */
export async function loadDriver(): Promise<Driver> {
  return import("redis");
}

/**
 * A client for one connection that never reconnects; connection.ts creates another client. The client's own
 * reconnecting has no deadline for a server that accepts connections and does not answer.
 *
 * Commands have no timeouts either: each would cost a timer, and a batch has one (calls.ts).
 */
export function newClient(
  driver: Driver,
  {
    address,
    connectTimeoutMs,
    lookup,
  }: {
    readonly address: Address;
    readonly connectTimeoutMs: number;
    readonly lookup?: LookupFunction | undefined;
  },
): RedisClient {
  const { draw, giveBack, note } = scripts;
  const client = driver.createClient<None, None, Scripts, 2, None>({
    url: address.url,
    // RESP2: proxies support it, and we use no feature of RESP3.
    RESP: 2,
    disableOfflineQueue: true,
    maintNotifications: "disabled",
    clientInfoTag: "posthorn",
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout: connectTimeoutMs,
      reconnectStrategy: false,
      keepAliveInitialDelay: 10_000,
      ...(lookup !== undefined && { lookup }),
    },
    scripts: {
      draw: driver.defineScript(draw),
      giveBack: driver.defineScript(giveBack),
      note: driver.defineScript(note),
    },
  });
  // Without a listener, the error event would end the process.
  client.on("error", () => undefined);
  return client;
}

/** Closes the connection; calls in flight are rejected. */
export function discard(client: RedisClient): void {
  client.destroy();
}
