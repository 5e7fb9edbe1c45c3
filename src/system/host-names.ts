import { lookup as systemLookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { networkInterfaces, hostname as ownHostname } from "node:os";
import { codeOf } from "../domain/thrown.ts";
import type { NamedAddress, NameLookup, NameSource, TextLookup } from "../ports/name-lookup.ts";
import {
  isSilence,
  type NameFiles,
  NameServers,
  type NameService,
  parseHosts,
  parseNsswitch,
  saysAbsent,
  type ServiceStatus,
  systemNameFiles,
  WatchedFile,
  withoutEndDot,
} from "./name-files.ts";

const textsMax = 100;
const textLengthMax = 1_024;

/** Looks up TXT records with the system's name servers, or with the given ones (`address:port`). */
export function createNameLookup(addresses?: readonly string[]): NameLookup {
  const servers = new NameServers(undefined, addresses);
  return {
    async texts(name): Promise<TextLookup> {
      try {
        const records = await servers.texts(name);
        // A TXT value longer than 255 bytes is sent in several strings.
        const texts = records.slice(0, textsMax).map((pieces) => pieces.join("").slice(0, textLengthMax));
        return { kind: "found", texts };
      } catch (error) {
        return saysAbsent(error)
          ? { kind: "absent" }
          : { kind: "failed", detail: `the name servers did not respond (${codeOf(error) ?? "unknown"})` };
      }
    },
    close: () => servers.close(),
  };
}

/** Applies to addresses that are returned without a time to live. */
const defaultTtlMs = 60_000;
/** Entries of the hosts file are not cached, because they can change at any time and are in memory anyway. */
const hostsTtlMs = 0;
const nameLengthMax = 253;

/** A name that could not be resolved, with the error codes of `dns.lookup`. */
class NameError extends Error {
  readonly code: string;
  readonly hostname: string;

  constructor(code: string, hostname: string) {
    super(`cannot resolve ${hostname}: ${code}`);
    this.name = "NameError";
    this.code = code;
    this.hostname = hostname;
  }
}

interface HostNamesOptions {
  /** Replaces the system's configuration files in tests. */
  readonly files?: NameFiles;
  /** Shared by the threads of a process; see `createLookupSlots`. */
  readonly lookupSlots?: BigInt64Array;
}

interface ServiceResult {
  readonly found: readonly NamedAddress[];
  readonly status: ServiceStatus;
  readonly error?: unknown;
}

const unavailable: ServiceResult = { found: [], status: "unavail" };
const notFound: ServiceResult = { found: [], status: "notfound" };

/**
 * Resolves names in the order of `nsswitch.conf`, like the system's resolver but without its threads: `getaddrinfo`
 * blocks one of libuv's four threads until name servers answer, and file access and cryptography also need these threads.
 * The hosts file is read here, and name servers are queried through c-ares, which waits for answers on the event loop.
 *
 * `getaddrinfo` is used only for sources that only the system can query (multicast DNS, LDAP, other platforms): after the
 * name servers have answered that the name does not exist, one call at a time, with a limit on the wait for a slot.
 */
export function createHostNames(options: HostNamesOptions = {}): NameSource {
  return new HostNames(options);
}

class HostNames implements NameSource {
  readonly #hosts: WatchedFile<ReadonlyMap<string, readonly string[]>>;
  readonly #services: WatchedFile<readonly NameService[]>;
  readonly #servers: NameServers;
  readonly #lookupSlots: BigInt64Array;

  constructor({ files = systemNameFiles, lookupSlots = ownLookupSlots }: HostNamesOptions) {
    this.#hosts = new WatchedFile(files.hosts, parseHosts);
    this.#services = new WatchedFile(files.nsswitch, parseNsswitch);
    this.#servers = new NameServers(files.resolv);
    this.#lookupSlots = lookupSlots;
  }

  async resolve(hostname: string): Promise<readonly NamedAddress[]> {
    if (isIP(hostname) !== 0) return [{ address: hostname, ttlMs: defaultTtlMs }];
    const name = withoutEndDot(hostname.toLowerCase());
    // RFC 6761: these names are never sent to a name server. IPv4 comes first, because most servers listen on IPv4.
    if (name === "localhost" || name.endsWith(".localhost")) return unchanging(["127.0.0.1", "::1"]);
    if (name === "" || name.length > nameLengthMax) throw new NameError("ENOTFOUND", hostname);
    const { found, failure, isOver } = await this.#askServices(name, hostname);
    if (found.length > 0) return found;
    if (failure !== undefined) throw new NameError(codeOf(failure) ?? "EAI_FAIL", hostname);
    if (isOver || !this.#needsSystem(name)) throw new NameError("ENOTFOUND", hostname);
    return this.#askSystem(name, hostname);
  }

  close(): void {
    this.#servers.close();
  }

  async #askServices(name: string, hostname: string) {
    let failure: unknown;
    for (const { name: service, endsOn } of this.#services.read()) {
      const { found, status, error } = await this.#askService(service, name, hostname);
      if (found.length > 0) return { found, failure: undefined, isOver: true };
      failure ??= error;
      if (endsOn.has(status)) return { found, failure, isOver: true };
    }
    return { found: [], failure, isOver: false };
  }

  async #askService(service: string, name: string, hostname: string): Promise<ServiceResult> {
    if (service === "files") return this.#inHosts(name);
    if (service === "dns") return this.#askServers(hostname);
    if (service === "myhostname") {
      if (name !== ownHostname().toLowerCase()) return notFound;
      return { found: unchanging(ownAddresses()), status: "notfound" };
    }
    if (service !== "resolve") return unavailable;
    // systemd-resolved reads the hosts file, and the name server in `resolv.conf` points to it.
    const inHosts = this.#inHosts(name);
    return inHosts.found.length > 0 ? inHosts : this.#askServers(hostname);
  }

  #inHosts(name: string): ServiceResult {
    const addresses = this.#hosts.read().get(name) ?? [];
    return { found: addresses.map((address) => ({ address, ttlMs: hostsTtlMs })), status: "notfound" };
  }

  /** Queries the name servers, completing short names with the search domains (`resolv.conf(5)`). */
  async #askServers(hostname: string): Promise<ServiceResult> {
    let error: unknown;
    const { search, ndots } = this.#servers.settings();
    for (const candidate of candidatesFor(hostname, search, ndots)) {
      try {
        const found = await this.#servers.addresses(candidate);
        if (found.length > 0) return { found, status: "notfound" };
      } catch (caught) {
        error ??= caught;
        // The next candidate would wait just as long.
        if (isSilence(caught)) return { found: [], status: "tryagain", error: caught };
      }
    }
    return error === undefined ? notFound : { found: [], status: "tryagain", error };
  }

  /** Whether the system may find names in sources that are not implemented here. */
  #needsSystem(name: string): boolean {
    if (process.platform !== "linux") return true;
    return this.#services
      .read()
      .some(({ name: service }) =>
        service.startsWith("mdns") ? name.endsWith(".local") : !ownServices.has(service),
      );
  }

  async #askSystem(name: string, hostname: string): Promise<readonly NamedAddress[]> {
    const free = await takeLookupSlot(this.#lookupSlots);
    if (free === null) throw new NameError("EAI_AGAIN", hostname);
    try {
      const found = await systemLookup(name, { all: true, order: "ipv4first" });
      return unchanging(found.map(({ address }) => address));
    } catch (error) {
      throw new NameError(codeOf(error) ?? "EAI_FAIL", hostname);
    } finally {
      free();
    }
  }
}

const ownServices: ReadonlySet<string> = new Set(["files", "dns", "resolve", "myhostname"]);

function candidatesFor(hostname: string, search: readonly string[], ndots: number): string[] {
  if (hostname.endsWith(".")) return [withoutEndDot(hostname)];
  const completed = search.map((domain) => `${hostname}.${domain}`);
  const isLong = hostname.split(".").length - 1 >= ndots;
  const all = isLong ? [hostname, ...completed] : [...completed, hostname];
  return all.filter((name) => name.length <= nameLengthMax);
}

function unchanging(addresses: readonly string[]): NamedAddress[] {
  return addresses.map((address) => ({ address, ttlMs: defaultTtlMs }));
}

/**
 * Addresses of this machine's network interfaces. Loopback and link-local addresses are returned only if the machine
 * has no other address.
 */
function ownAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((card) => card ?? []);
  const outside = all.filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  return (outside.length > 0 ? outside : all)
    .map(({ address }) => address)
    .sort((one, other) => isIP(one) - isIP(other));
}

/** The addresses of a host. For an unspecified address, those of all network interfaces. Never rejects. */
export async function hostAddresses(names: NameSource, hostname: string): Promise<readonly string[]> {
  const name = hostname.replaceAll(/[[\]]/g, "");
  if (name === "0.0.0.0" || name === "::")
    return Object.values(networkInterfaces()).flatMap((card) => (card ?? []).map(({ address }) => address));
  return names.resolve(name).then(
    (found) => found.map(({ address }) => address),
    () => [],
  );
}

/** Maximum number of libuv's four threads that `getaddrinfo` may block for one purpose. */
const lookupSlotCount = 1;
const slotWaitMsMax = 2_000;
const slotPollMs = 20;
/** The system gives up earlier than this. A slot whose thread has died becomes available again after this time. */
const slotHeldMsMax = 60_000;

/**
 * Slots for `getaddrinfo`, shared by all threads of a process because libuv's threads are shared. Each holds the time
 * until which it is taken.
 */
export function createLookupSlots(): BigInt64Array {
  return new BigInt64Array(new SharedArrayBuffer(lookupSlotCount * BigInt64Array.BYTES_PER_ELEMENT));
}

const ownLookupSlots = createLookupSlots();

/** Returns a function that releases the slot; null if no slot became available in time. */
async function takeLookupSlot(slots: BigInt64Array): Promise<(() => void) | null> {
  for (let waitedMs = 0; waitedMs <= slotWaitMsMax; waitedMs += slotPollMs) {
    const now = process.hrtime.bigint();
    const until = now + BigInt(slotHeldMsMax) * 1_000_000n;
    for (const slot of slots.keys()) {
      const taken = Atomics.load(slots, slot);
      if (taken < now && Atomics.compareExchange(slots, slot, taken, until) === taken)
        return () => void Atomics.compareExchange(slots, slot, until, 0n);
    }
    await new Promise((resolve) => setTimeout(resolve, slotPollMs));
  }
  return null;
}

const cachedMsMax = 30_000;
const cachedNamesMax = 256;
/** How long a known address continues to be used while name servers do not answer. */
const staleMsMax = 3_600_000;
/** How long a connection waits for name servers when an older answer is available. */
const staleAfterMs = 250;

interface CachedAnswer {
  readonly found: readonly NamedAddress[];
  readonly freshUntilMs: number;
  readonly usableUntilMs: number;
}

/**
 * For names in the operator's settings: databases, brokers, mail servers, collectors, proxies. It is separate from the
 * resolver for receivers, so that a tenant's unresponsive name server does not delay these names. While name servers do
 * not answer, it falls back to the last addresses.
 */
export function createInfrastructureLookup(names: NameSource): LookupFunction {
  const cache = new InfrastructureNames(names);
  return (hostname, options, callback) => {
    const family = Number(String(options.family ?? 0).replace("IPv", ""));
    cache.resolve(hostname).then(
      (found) => {
        const all = found
          .map(({ address }) => ({ address, family: isIP(address) }))
          .filter((one) => family === 0 || one.family === family);
        const [first] = all;
        if (first === undefined) callback(new NameError("ENOTFOUND", hostname), "");
        else if (options.all === true) callback(null, all);
        else callback(null, first.address, first.family);
      },
      (error: unknown) => callback(lookupError(error, hostname), ""),
    );
  };
}

/**
 * Creates an error with the codes of `dns.lookup`, which clients expect: EAI_AGAIN when name servers did not answer.
 */
function lookupError(error: unknown, hostname: string): NodeJS.ErrnoException {
  const code = codeOf(error) ?? "";
  return new NameError(code === "ENOTFOUND" || code.startsWith("EAI_") ? code : "EAI_AGAIN", hostname);
}

class InfrastructureNames {
  readonly #names: NameSource;
  readonly #answers = new Map<string, CachedAnswer>();
  readonly #queries = new Map<string, Promise<readonly NamedAddress[]>>();

  constructor(names: NameSource) {
    this.#names = names;
  }

  async resolve(hostname: string): Promise<readonly NamedAddress[]> {
    const cached = this.#answers.get(hostname);
    const now = performance.now();
    if (cached !== undefined && cached.freshUntilMs > now) return cached.found;
    const query = this.#queryOnce(hostname);
    if (cached === undefined || cached.usableUntilMs <= now) return query;
    const patience = Promise.withResolvers<readonly NamedAddress[]>();
    const timer = setTimeout(() => patience.resolve(cached.found), staleAfterMs);
    try {
      const fresh = query.catch((error: unknown) => {
        if (codeOf(error) === "ENOTFOUND") throw error;
        return cached.found;
      });
      return await Promise.race([fresh, patience.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #queryOnce(hostname: string): Promise<readonly NamedAddress[]> {
    const running = this.#queries.get(hostname);
    if (running !== undefined) return running;
    const query = this.#names
      .resolve(hostname)
      .then((found) => this.#remember(hostname, found))
      .finally(() => this.#queries.delete(hostname));
    // A caller that used the older answer does not wait for this one, so ignore its error here.
    query.catch(() => undefined);
    this.#queries.set(hostname, query);
    return query;
  }

  #remember(hostname: string, found: readonly NamedAddress[]): readonly NamedAddress[] {
    const now = performance.now();
    const freshUntilMs = now + Math.min(cachedMsMax, ...found.map(({ ttlMs }) => ttlMs));
    this.#answers.delete(hostname);
    this.#answers.set(hostname, { found, freshUntilMs, usableUntilMs: now + staleMsMax });
    const oldest = this.#answers.keys().next();
    if (this.#answers.size > cachedNamesMax && oldest.done !== true) this.#answers.delete(oldest.value);
    return found;
  }
}

let shared: LookupFunction | null = null;

/** Shared within one thread. */
export const infrastructureLookup: LookupFunction = (hostname, options, callback) => {
  shared ??= createInfrastructureLookup(createHostNames({ lookupSlots: createLookupSlots() }));
  shared(hostname, options, callback);
};
