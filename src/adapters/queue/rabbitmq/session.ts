import type { LookupFunction } from "node:net";
import { readFile } from "node:fs/promises";
import type { ChannelModel } from "amqplib";
import type { Clock } from "../../../ports/clock.ts";
import { withDeadline } from "../../../ports/timing/deadline.ts";
import type { Address, TlsFiles } from "./address.ts";
import type { Driver } from "./driver.ts";
import { ConnectTimeout, connectError, WorkQueueSetupError } from "./errors.ts";

export interface SessionOptions {
  readonly driver: Driver;
  readonly address: Address;
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
  readonly lookup?: LookupFunction | undefined;
}

/**
 * Two connections that live and die together. A broker that is short of memory or disk stops reading from connections
 * that publish. On a single connection, the acknowledgements that would relieve the broker would be stuck behind unread
 * messages.
 */
export interface Session {
  readonly sending: ChannelModel;
  readonly receiving: ChannelModel;
  /** The broker currently blocks publishing. */
  readonly isBlocked: boolean;
  /** Called once, when the session ends for another reason than `end`. */
  onLost(listener: (reason: string) => void): void;
  end(): Promise<void>;
}

/** Time limit for closing politely. */
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

  /** From now on the end of a connection is intended, and not a reason to end the other one. */
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
  // When the time is up, the sockets are closed. Ignore the failures of connections still in progress.
  both.catch(() => undefined);
  const connected = await withDeadline(both, { timeoutMs: connectTimeoutMs, clock });
  if (connected === null) throw new ConnectTimeout("no answer in time");
  const [sending, receiving] = connected;
  judgeVersion(sending.connection.serverProperties, address.at);
  return { sending, receiving };
}

/**
 * Other products speak AMQP too and use other version numbers. Their missing features show when queues are declared.
 */
function judgeVersion(
  { product, version }: { readonly product?: unknown; readonly version?: unknown },
  at: string,
): void {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(String(version)) ?? [];
  if (product !== "RabbitMQ" || major === undefined || minor === undefined) return;
  const isOlder =
    Number(major) < oldestVersion.major ||
    (Number(major) === oldestVersion.major && Number(minor) < oldestVersion.minor);
  if (!isOlder) return;
  throw new WorkQueueSetupError(
    "too_old",
    `RabbitMQ at ${at} has version ${String(version)}: 3.10 or later is needed`,
  );
}

interface TlsMaterial {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** Read for each connection, so that a renewed certificate needs no restart. */
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
