import { Resolver } from "node:dns/promises";
import { codeOf } from "../../core/thrown.ts";
import type { NamedAddress } from "../../ports/name-lookup.ts";
import { parseResolv, systemNameFiles, WatchedFile } from "./name-files.ts";
import type { ResolverSettings } from "./name-files.ts";

/** Earlier resolvers may still have queries in flight, which `close` also cancels. */
const resolversMax = 4;

/**
 * Queries the name servers of `resolv.conf` through c-ares, without blocking a thread. The file is read again when it
 * changes. After a query that no server answered, the sockets are reopened, because the network may have changed.
 */
export class NameServers {
  readonly #file: WatchedFile<ResolverSettings>;
  readonly #fixed: readonly string[] | null;
  #settings: ResolverSettings | null = null;
  /** The newest last. */
  #resolvers: Resolver[] = [];
  #isClosed = false;

  constructor(path: string = systemNameFiles.resolv, fixed: readonly string[] | null = null) {
    this.#file = new WatchedFile(path, parseResolv);
    this.#fixed = fixed;
  }

  settings(): ResolverSettings {
    return this.#file.read();
  }

  /**
   * Addresses of both families. Empty when the servers answered that the name does not exist; rejects when they did not
   * answer.
   */
  addresses(name: string): Promise<readonly NamedAddress[]> {
    return this.#ask(async (resolver) => {
      const answers = await Promise.allSettled([
        resolver.resolve4(name, { ttl: true }),
        resolver.resolve6(name, { ttl: true }),
      ]);
      const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
      const failed = answers.find((answer) => answer.status === "rejected" && !saysAbsent(answer.reason));
      if (found.length === 0 && failed?.status === "rejected") throw failed.reason;
      return found.map(({ address, ttl }) => ({ address, ttlMs: ttl * 1_000 }));
    });
  }

  /** The TXT records of a name, each in pieces. Also rejects when there is none. */
  texts(name: string): Promise<readonly (readonly string[])[]> {
    return this.#ask((resolver) => resolver.resolveTxt(name));
  }

  close(): void {
    this.#isClosed = true;
    for (const resolver of this.#resolvers) resolver.cancel();
  }

  async #ask<Answer>(query: (resolver: Resolver) => Promise<Answer>): Promise<Answer> {
    if (this.#isClosed) throw Object.assign(new Error("the resolver is closed"), { code: "ECANCELLED" });
    const resolver = this.#resolver();
    const settings = this.#settings;
    try {
      return await query(resolver);
    } catch (error) {
      if (!isSilence(error) || this.#isClosed) throw error;
      if (this.#resolvers.at(-1) === resolver) this.#settings = null;
      if (this.settings() === settings) throw error;
      // The servers changed while the query was waiting for the former ones.
      return query(this.#resolver());
    }
  }

  #resolver(): Resolver {
    const settings = this.settings();
    const present = this.#resolvers.at(-1);
    if (present !== undefined && settings === this.#settings) return present;
    this.#settings = settings;
    const resolver = new Resolver({ timeout: settings.timeoutMs, tries: settings.attempts });
    const servers = this.#fixed ?? settings.servers;
    // Node drops the zone of a link-local address. c-ares, which reads the system's file itself, keeps it.
    if (servers.length > 0 && !servers.some((server) => server.includes("%"))) resolver.setServers(servers);
    this.#resolvers = [...this.#resolvers, resolver].slice(-resolversMax);
    return resolver;
  }
}

/** No server answered, or none can be reached. */
export function isSilence(error: unknown): boolean {
  return ["ETIMEOUT", "ECONNREFUSED", "ECANCELLED"].includes(codeOf(error) ?? "");
}

/** The name servers answered that there is no such name or no such record, or that it is not a name. */
export function saysAbsent(error: unknown): boolean {
  return ["ENOTFOUND", "ENODATA", "EBADNAME"].includes(codeOf(error) ?? "");
}
