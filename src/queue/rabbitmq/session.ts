import { readFile } from "node:fs/promises";
import type { LookupFunction } from "node:net";
import type { ChannelModel, connect, Options } from "amqplib";
import { type Clock, withDeadline } from "../../ports/clock.ts";
import { connectError, ConnectTimeout, WorkQueueSetupError } from "./errors.ts";

/** Address of the broker, and our credentials. */
interface Address {
  /** `host:port/vhost`, for messages: without user and password. */
  readonly at: string;
  readonly connect: Options.Connect;
  readonly tlsFiles: TlsFiles;
}

/** Paths of PEM files, with the names of RabbitMQ's URI query parameters. */
interface TlsFiles {
  readonly cacertfile: string | null;
  readonly certfile: string | null;
  readonly keyfile: string | null;
}

/**
 * Heartbeat in seconds, unless the address sets another value. Short enough to notice a dead broker within half a
 * minute, long enough for a busy one. The broker's own default is a minute.
 */
const heartbeatSDefault = 10;
const heartbeatSMax = 300;
/** RabbitMQ 4.1 and later require at least 8 KiB. This is the default of all versions. */
const frameBytesMax = 131_072;

const defaultPorts = { amqp: 5672, amqps: 5671 } as const;
const example = "amqp://user:password@host:5672/vhost";
const parameters: ReadonlySet<string> = new Set(["heartbeat", "cacertfile", "certfile", "keyfile"]);

/** Validates the form of the URL. Error messages never contain the URL, because it contains the password. */
export function parseAddress(url: string): Address {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !/^amqps?:$/.test(parsed.protocol) || parsed.hostname === "") {
    throw invalid(
      `the address of RabbitMQ is not a URL like ${example}, with special characters of the password percent-encoded`,
    );
  }
  // User and password end at the first / ? or #. The remaining characters would be displayed as host and virtual host.
  if (parsed.hash !== "" || /@/.test(parsed.pathname + parsed.search)) {
    throw invalid(
      "the address of RabbitMQ has a misplaced @ or #: write special characters of user, password and " +
        "virtual host percent-encoded, such as %40 for @, %2F for /, %3F for ? and %23 for #",
    );
  }
  const unknown = [...parsed.searchParams.keys()].find((name) => !parameters.has(name));
  if (unknown !== undefined) {
    throw invalid(
      `the address of RabbitMQ has an unknown parameter ${JSON.stringify(unknown)}: use ${[...parameters].join(", ")}`,
    );
  }
  const protocol = parsed.protocol === "amqps:" ? "amqps" : "amqp";
  const hostname = parsed.hostname.replace(/^\[(.+)\]$/, "$1");
  const port = parsed.port === "" ? defaultPorts[protocol] : Number(parsed.port);
  const path = parsed.pathname.replace(/^\//, "");
  const vhost = decoded(path === "" ? "/" : path);
  const hasUser = parsed.username !== "" || parsed.password !== "";
  return {
    at: `${parsed.hostname}:${port}/${vhost === "/" ? "" : vhost}`,
    connect: {
      protocol,
      hostname,
      port,
      username: hasUser ? decoded(parsed.username) : "guest",
      password: hasUser ? decoded(parsed.password) : "guest",
      // amqplib decodes it again.
      vhost: encodeURIComponent(vhost),
      heartbeat: heartbeatOf(parsed),
      frameMax: frameBytesMax,
    },
    tlsFiles: {
      cacertfile: parsed.searchParams.get("cacertfile"),
      certfile: parsed.searchParams.get("certfile"),
      keyfile: parsed.searchParams.get("keyfile"),
    },
  };
}

/** Without a heartbeat, a dead connection would go unnoticed for a quarter of an hour. */
function heartbeatOf({ searchParams }: URL): number {
  const seconds = Number(searchParams.get("heartbeat") ?? heartbeatSDefault);
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= heartbeatSMax) return seconds;
  throw invalid(
    `heartbeat in the address of RabbitMQ must be a whole number of seconds from 1 to ${heartbeatSMax}`,
  );
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid(
      "user, password or virtual host in the address of RabbitMQ contains a % that is not written as %25",
    );
  }
}

function invalid(text: string): WorkQueueSetupError {
  return new WorkQueueSetupError("invalid_url", text);
}

/** The part of amqplib that we use. */
interface Driver {
  readonly connect: typeof connect;
}

/** Loads amqplib when a RabbitMQ queue is opened. Installations without RabbitMQ never need it. */
export async function loadDriver(): Promise<Driver> {
  const { default: driver } = await import("amqplib");
  return driver;
}

interface SessionOptions {
  readonly driver: Driver;
  readonly address: Address;
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
  readonly lookup?: LookupFunction | undefined;
}

/**
 * Two connections that are opened and closed together. A broker that is short of memory or disk stops reading from
 * connections that publish. On a single connection, the acknowledgements that would relieve the broker would be stuck
 * behind unread messages.
 */
export interface Session {
  readonly sending: ChannelModel;
  readonly receiving: ChannelModel;
  /** Whether the broker currently blocks publishing. */
  readonly isBlocked: boolean;
  /** Called once, when the session ends for a reason other than `end`. */
  onLost(listener: (reason: string) => void): void;
  end(): Promise<void>;
}

/** Time limit for an orderly close. */
const goodbyeMsMax = 1_000;
/** The first version whose quorum queues have all the features that we use. */
const oldestVersion = { major: 3, minor: 10 } as const;

/** Throws WorkQueueSetupError within the connect timeout. `signal` cancels the attempt. */
export async function openSession(options: SessionOptions, signal: AbortSignal): Promise<Session> {
  const sockets = new Sockets();
  const giveUp = (): void => sockets.end();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    const connections = await connectBoth(options, sockets);
    signal.throwIfAborted();
    return new OpenSession(connections, sockets, options.clock);
  } catch (error) {
    sockets.end();
    throw connectError(error, options.address.at);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

/**
 * The sockets of a session. When one is lost, all are closed, which also returns the messages that their channels held.
 */
class Sockets {
  readonly #abort = new AbortController();
  #lostBecause: string | null = null;
  #listener: ((reason: string) => void) | null = null;
  #isExpected = false;

  /** amqplib leaves the socket of a dead connection open; this signal lets us close it. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Listen from the first moment, because an unhandled error event would end the process. */
  watch(connection: ChannelModel): void {
    connection.on("error", (error) => this.#lost(error.message));
    connection.on("close", (error) => this.#lost(error?.message ?? "closed"));
  }

  onLost(listener: (reason: string) => void): void {
    this.#listener = listener;
    if (this.#lostBecause !== null) listener(this.#lostBecause);
  }

  /** From now on the end of a connection is intentional, and not a reason to end the other one. */
  expectEnd(): void {
    this.#isExpected = true;
  }

  end(): void {
    this.#abort.abort();
  }

  #lost(reason: string): void {
    if (this.#isExpected || this.#lostBecause !== null) return;
    this.#lostBecause = reason;
    this.end();
    this.#listener?.(reason);
  }
}

interface Connections {
  readonly sending: ChannelModel;
  readonly receiving: ChannelModel;
}

async function connectBoth(options: SessionOptions, sockets: Sockets): Promise<Connections> {
  const { driver, address, connectTimeoutMs, clock, lookup } = options;
  const tls = await readTlsFiles(address.tlsFiles);
  const connect = async (what: string): Promise<ChannelModel> => {
    const socket = { ...tls, signal: sockets.signal, noDelay: true, ...(lookup !== undefined && { lookup }) };
    const clientProperties = { connection_name: `posthorn ${what}` };
    const connection = await driver.connect(address.connect, { ...socket, clientProperties });
    sockets.watch(connection);
    return connection;
  };
  const both = Promise.all([connect("sending"), connect("receiving")]);
  // After the timeout, the sockets are closed. Ignore the resulting failures of connections that are still being
  // opened.
  both.catch(() => undefined);
  const connected = await withDeadline(both, { timeoutMs: connectTimeoutMs, clock });
  if (connected === null) throw new ConnectTimeout("no response in time");
  const [sending, receiving] = connected;
  const { product, version } = sending.connection.serverProperties;
  judgeVersion(product, version, address.at);
  return { sending, receiving };
}

/**
 * Other products also support AMQP and use other version numbers. If they lack features, declaring the queues fails.
 */
function judgeVersion(product: unknown, version: unknown, at: string): void {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(String(version)) ?? [];
  if (product !== "RabbitMQ" || major === undefined || minor === undefined) return;
  const isOlder =
    Number(major) < oldestVersion.major ||
    (Number(major) === oldestVersion.major && Number(minor) < oldestVersion.minor);
  if (!isOlder) return;
  throw new WorkQueueSetupError(
    "too_old",
    `RabbitMQ at ${at} has version ${String(version)}: 3.10 or later is required`,
  );
}

interface TlsMaterial {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** Read for each connection, so that a renewed certificate does not require a restart. */
async function readTlsFiles({ cacertfile, certfile, keyfile }: TlsFiles): Promise<TlsMaterial> {
  const read = async (path: string): Promise<Buffer> => {
    try {
      return await readFile(path);
    } catch {
      throw new WorkQueueSetupError("tls", `cannot read ${path}, which the address of RabbitMQ names`);
    }
  };
  return {
    ...(cacertfile === null ? {} : { ca: await read(cacertfile) }),
    ...(certfile === null ? {} : { cert: await read(certfile) }),
    ...(keyfile === null ? {} : { key: await read(keyfile) }),
  };
}

class OpenSession implements Session {
  readonly sending: ChannelModel;
  readonly receiving: ChannelModel;
  readonly #sockets: Sockets;
  readonly #clock: Clock;
  #isBlocked = false;

  constructor({ sending, receiving }: Connections, sockets: Sockets, clock: Clock) {
    this.sending = sending;
    this.receiving = receiving;
    this.#sockets = sockets;
    this.#clock = clock;
    sending.on("blocked", () => (this.#isBlocked = true));
    sending.on("unblocked", () => (this.#isBlocked = false));
  }

  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  onLost(listener: (reason: string) => void): void {
    this.#sockets.onLost(listener);
  }

  async end(): Promise<void> {
    this.#sockets.expectEnd();
    const goodbyes = Promise.allSettled([this.sending.close(), this.receiving.close()]);
    await withDeadline(goodbyes, { timeoutMs: goodbyeMsMax, clock: this.#clock });
    this.#sockets.end();
  }
}
