import type { LookupFunction } from "node:net";
import type * as redis from "redis";
import type { Address } from "./address.ts";
import { scripts } from "./scripts.ts";

type Driver = typeof redis;
// oxlint-disable-next-line no-generated-empty-object-type -- no modules, no functions: what the driver's type asks for
type None = Record<never, never>;
type Defined<Script> = Script & { readonly SHA1: string };
type Scripts = { readonly [Name in keyof typeof scripts]: Defined<(typeof scripts)[Name]> };
/** Written out, because what the driver infers can be named only where it lies in a certain place. */
export type RedisClient = redis.RedisClientType<None, None, Scripts, 2>;

/** redis is loaded when a shared state is opened, not before: installations without one never need it. */
export async function loadDriver(): Promise<Driver> {
  return import("redis");
}

/**
 * A client for one connection, which never comes back by itself: connection.ts makes another one. The client's own
 * reconnecting has no deadline for a server that accepts and says nothing.
 *
 * Commands have no timeout of their own either: each would cost a timer, and a batch has one (calls.ts).
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
    // The older protocol: proxies know it, and nothing of the newer one is used.
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
  // Without a listener the event would end the process.
  client.on("error", () => undefined);
  return client;
}

/** Ends the connection; what is in flight is rejected. */
export function discard(client: RedisClient): void {
  client.destroy();
}
