import { lookup, Resolver } from "node:dns/promises";
import { codeOf } from "../../../core/thrown.ts";

export interface NamedAddress {
  readonly address: string;
  readonly ttlMs: number;
}

/** Where addresses of names come from. Rejects, or resolves to an empty list, when a name has none. */
export interface NameSource {
  resolve(hostname: string): Promise<readonly NamedAddress[]>;
  close(): void;
}

const queryTimeoutMs = 2000;
const queryTriesMax = 2;
/** For addresses that come without a time to live. */
const defaultTtlMs = 60_000;
/** Of libuv's four threads, which file access and cryptography need as well. */
const lookupsAtOnceMax = 2;

/**
 * Resolves through c-ares, which asks servers without occupying a thread: a receiver's slow name server then delays
 * nobody else. The system's resolver (`/etc/hosts`, search domains) is asked only for names that c-ares cannot know:
 * those without a dot, and those that name servers do not have; two at a time, because each holds a thread.
 */
export function createSystemNames(): NameSource {
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: queryTriesMax });
  const lookupSlots = new Slots(lookupsAtOnceMax);
  return {
    async resolve(hostname) {
      if (hostname === "localhost" || hostname.endsWith(".localhost")) return loopback();
      if (!hostname.includes(".")) return lookupSlots.run(() => systemLookup(hostname));
      const queried = await query(resolver, hostname);
      if (queried.length > 0) return queried;
      return lookupSlots.run(() => systemLookup(hostname));
    },
    close: () => resolver.cancel(),
  };
}

/** RFC 6761: these names never leave the machine. IPv4 first, because that is where most servers listen. */
function loopback(): NamedAddress[] {
  return ["127.0.0.1", "::1"].map((address) => ({ address, ttlMs: defaultTtlMs }));
}

async function query(resolver: Resolver, hostname: string): Promise<NamedAddress[]> {
  const [v4, v6] = await Promise.allSettled([
    resolver.resolve4(hostname, { ttl: true }),
    resolver.resolve6(hostname, { ttl: true }),
  ]);
  const found = [v4, v6].flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (found.length === 0) {
    for (const answer of [v4, v6]) {
      if (answer.status === "rejected" && !leavesOpen(answer.reason)) throw answer.reason;
    }
  }
  return found.map(({ address, ttl }) => ({ address, ttlMs: ttl * 1000 }));
}

/** Name servers know no such name, or this machine has none (ECONNREFUSED): `/etc/hosts` may still know it. */
function leavesOpen(error: unknown): boolean {
  const code = codeOf(error) ?? "";
  return code === "ENOTFOUND" || code === "ENODATA" || code === "ECONNREFUSED";
}

async function systemLookup(hostname: string): Promise<NamedAddress[]> {
  const found = await lookup(hostname, { all: true, order: "ipv4first" });
  return found.map(({ address }) => ({ address, ttlMs: defaultTtlMs }));
}

/** Runs at most so many tasks at once, the others in the order they came. */
class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
