import { Resolver } from "node:dns/promises";
import { closeSync, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { isIP } from "node:net";
import { hostname as ownHostname } from "node:os";
import { join } from "node:path";
import { codeOf } from "../domain/thrown.ts";
import type { NamedAddress } from "../ports/name-lookup.ts";

/** The files that configure name resolution: `/etc/hosts`, `/etc/resolv.conf` and `/etc/nsswitch.conf`. */

export interface NameFiles {
  readonly hosts: string;
  readonly resolv: string;
  readonly nsswitch: string;
}

export const systemNameFiles: NameFiles = {
  hosts:
    process.platform === "win32"
      ? join(process.env["SystemRoot"] ?? "C:\\Windows", "System32", "drivers", "etc", "hosts")
      : "/etc/hosts",
  resolv: "/etc/resolv.conf",
  nsswitch: "/etc/nsswitch.conf",
};

/** Maximum size of a file. Lists of blocked hosts can be several megabytes long. */
const fileBytesMax = 16 * 1024 * 1024;

/**
 * A file that is read again when it has changed. Reads are synchronous, because asynchronous reads use libuv's threads,
 * and names must be resolved while those are busy. A missing or unreadable file is treated as empty.
 */
export class WatchedFile<Content> {
  readonly #path: string;
  readonly #parse: (text: string) => Content;
  #signature: string | null = null;
  #content: Content | null = null;

  constructor(path: string, parse: (text: string) => Content) {
    this.#path = path;
    this.#parse = parse;
  }

  read(): Content {
    const signature = signatureOf(statSync(this.#path, { throwIfNoEntry: false }));
    if (this.#content !== null && signature === this.#signature) return this.#content;
    const text = textOf(this.#path);
    this.#signature = signature;
    this.#content = this.#parse(text);
    return this.#content;
  }
}

function signatureOf(stats: Stats | undefined): string {
  return stats === undefined ? "" : `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
}

function textOf(path: string): string {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return "";
  }
  try {
    const bytes = Buffer.alloc(Math.min(fstatSync(file).size, fileBytesMax));
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, 0));
  } catch {
    return "";
  } finally {
    closeSync(file);
  }
}

/** Addresses keyed by lower-case host name. IPv4 comes first, because most servers listen on IPv4. */
export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...names] = wordsOf(line);
    if (isIP(address) === 0) continue;
    for (const name of names.map((one) => one.toLowerCase())) {
      const addresses = found.get(name);
      if (addresses === undefined) found.set(name, [address]);
      else if (!addresses.includes(address)) addresses.push(address);
    }
  }
  for (const addresses of found.values()) addresses.sort((one, other) => isIP(one) - isIP(other));
  return found;
}

interface ResolverSettings {
  /** `address` or `address:port`, as Node accepts them; empty if the file has none. */
  readonly servers: readonly string[];
  /** Domains appended to short names. */
  readonly search: readonly string[];
  /** A name with fewer dots is tried with the search domains before it is tried unchanged. */
  readonly ndots: number;
  readonly timeoutMs: number;
  readonly attempts: number;
}

const serversMax = 3;
const searchMax = 32;
/** The C library waits 5 s. A delivery cannot wait that long, and an answer normally takes a few milliseconds. */
const timeoutSDefault = 2;

/**
 * Parses `resolv.conf(5)`, with the bounds of the C library. `RES_OPTIONS` and `LOCALDOMAIN` take precedence over the
 * file.
 */
function parseResolv(
  text: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): ResolverSettings {
  const lines = text.split("\n").map(wordsOf);
  const servers = lines.flatMap(([keyword, server = ""]) => {
    const address = serverOf(server);
    return keyword === "nameserver" && address !== null ? [address] : [];
  });
  // If there are several `domain` and `search` lines, the last one counts.
  const listed = lines.findLast(([keyword]) => keyword === "search" || keyword === "domain")?.slice(1);
  const local = env["LOCALDOMAIN"] === undefined ? listed : wordsOf(env["LOCALDOMAIN"]);
  const options = [
    ...lines.filter(([keyword]) => keyword === "options").flatMap((line) => line.slice(1)),
    ...wordsOf(env["RES_OPTIONS"] ?? ""),
  ];
  return {
    servers: servers.slice(0, serversMax),
    search: (local ?? ownDomain())
      .map(withoutEndDot)
      .filter((name) => name !== "")
      .slice(0, searchMax),
    ndots: Math.min(15, numberIn(options, "ndots") ?? 1),
    timeoutMs: Math.min(30, Math.max(1, numberIn(options, "timeout") ?? timeoutSDefault)) * 1_000,
    attempts: Math.min(5, Math.max(1, numberIn(options, "attempts") ?? 2)),
  };
}

/** Also accepts a port, like c-ares: `127.0.0.1:5353`, `[::1]:5353`. */
function serverOf(text: string): string | null {
  if (isIP(text) !== 0) return text;
  const [, v6, v4, port = ""] = /^(?:\[([^\]]+)\]|([\d.]+)):(\d{1,5})$/.exec(text) ?? [];
  const isValid = isIP(v6 ?? v4 ?? "") !== 0 && Number(port) > 0 && Number(port) < 65_536;
  return isValid ? text : null;
}

function numberIn(options: readonly string[], name: string): number | null {
  const text = options.findLast((option) => option.startsWith(`${name}:`))?.slice(name.length + 1) ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** The domain of this machine's name, used if the file contains no domain. */
function ownDomain(): string[] {
  const name = ownHostname();
  const dot = name.indexOf(".");
  return dot < 0 ? [] : [name.slice(dot + 1)];
}

export function withoutEndDot(name: string): string {
  return name.endsWith(".") ? name.slice(0, -1) : name;
}

/** The result of querying a service, as defined by `nsswitch.conf(5)`. */
export type ServiceStatus = "notfound" | "unavail" | "tryagain";

/** One service of the line `hosts:`, and the results that end the search without querying further services. */
export interface NameService {
  readonly name: string;
  readonly endsOn: ReadonlySet<ServiceStatus>;
}

const statuses: readonly ServiceStatus[] = ["notfound", "unavail", "tryagain"];
const usualServices = "files dns";

export function parseNsswitch(text: string): readonly NameService[] {
  const line = text
    .split("\n")
    .map((one) => one.replace(/#.*/, "").trim())
    .findLast((one) => /^hosts\s*:/.test(one));
  const listed = line?.slice(line.indexOf(":") + 1).trim() ?? "";
  const services: { name: string; endsOn: Set<ServiceStatus> }[] = [];
  for (const word of (listed === "" ? usualServices : listed).match(/\[[^\]]*\]|[^\s[]+/g) ?? []) {
    if (!word.startsWith("[")) services.push({ name: word, endsOn: new Set() });
    else applyActions(word, services.at(-1)?.endsOn ?? new Set());
  }
  return services;
}

/** `[NOTFOUND=return]`, `[!UNAVAIL=return]`. `!` means every other result. */
function applyActions(text: string, endsOn: Set<ServiceStatus>): void {
  for (const [, not, status, action] of text.toLowerCase().matchAll(/(!?)(\w+)\s*=\s*(\w+)/g)) {
    for (const each of statuses.filter((one) => (one === status) === (not === ""))) {
      if (action === "return") endsOn.add(each);
      else endsOn.delete(each);
    }
  }
}

function wordsOf(line: string): string[] {
  return line
    .replace(/[#;].*/, "")
    .split(/\s+/)
    .filter((word) => word !== "");
}

/** Earlier resolvers may still have queries in flight, which `close` cancels too. */
const resolversMax = 4;

/**
 * Queries the name servers of `resolv.conf` through c-ares, without blocking a thread. The file is read again when it
 * changes. If no server answered a query, the sockets are reopened, because the network may have changed.
 */
export class NameServers {
  readonly #file: WatchedFile<ResolverSettings>;
  readonly #fixed: readonly string[] | null;
  #settings: ResolverSettings | null = null;
  /** The newest resolver is last. */
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

  /** The TXT records of a name, each as a list of strings. Also rejects if the name has no such record. */
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
      // The servers changed while the query was waiting for the previous ones.
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

/** The name servers answered that the name or the record does not exist, or that the name is not valid. */
export function saysAbsent(error: unknown): boolean {
  return ["ENOTFOUND", "ENODATA", "EBADNAME"].includes(codeOf(error) ?? "");
}
