import { type LookupFunction, Socket } from "node:net";
import type pg from "pg";
import { isDecodable } from "../../../domain/http/percent-encoding.ts";
import type { Clock } from "../../../ports/clock.ts";
import { DatabaseSetupError } from "./errors.ts";

/** If the server has not closed the connection this long after `end()`, treat it as dead. */
const goodbyeMsMax = 2_000;

/**
 * Limits connections in the way the server counts them: a connection that is being closed counts until the server has
 * closed it. If packets are lost, that cannot be observed, and its slot is released after some seconds.
 */
export class ServerPlaces {
  readonly #placesMax: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(placesMax: number) {
    this.#placesMax = placesMax;
  }

  take(taken: () => void): void {
    this.#waiting.push(taken);
    this.#fill();
  }

  free(): void {
    this.#taken -= 1;
    this.#fill();
  }

  #fill(): void {
    while (this.#taken < this.#placesMax) {
      const taken = this.#waiting.shift();
      if (taken === undefined) return;
      this.#taken += 1;
      taken();
    }
  }
}

type Connected = (error: Error | null, client: pg.Client) => void;

type ClientClass = new (config?: pg.ClientConfig) => pg.Client;

interface ClientParts {
  readonly places: ServerPlaces;
  /** Sent at the start of each connection. */
  readonly parameters?: () => Partial<pg.ClientConfig>;
}

/**
 * A pg client that connects when a slot is available, and returns the slot when its connection is closed.
 *
 * It also closes a connection that failed to open. pg itself leaves it open, for example if the server requires a
 * password and none is set, which would delay the end of the program until the server closes the connection.
 */
export function clientClass(
  driver: typeof pg,
  { places, parameters = () => ({}) }: ClientParts,
): ClientClass {
  return class extends driver.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, ...parameters() });
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): unknown {
      if (callback === undefined) return this.#connected();
      const { connection } = this;
      const { stream } = connection;
      let isWaiting = true;
      const giveUp = (): void => {
        isWaiting = false;
        callback(new Error("timeout exceeded when trying to connect"), this);
      };
      // The pool closes the stream of a client that takes too long.
      stream.once("close", giveUp);
      places.take(() => {
        if (!isWaiting) return places.free();
        stream.off("close", giveUp);
        connection.once("end", () => places.free());
        super.connect((error: Error | null) => {
          if (error !== null) connection.stream.destroy();
          callback(error, this);
        });
      });
    }

    #connected(): Promise<pg.Client> {
      return new Promise((resolve, reject) => {
        this.connect((error, client) => (error === null ? resolve(client) : reject(error)));
      });
    }

    override end(): Promise<void>;
    override end(callback: (error: Error) => void): void;
    override end(callback?: (error: Error) => void): unknown {
      const timer = setTimeout(() => this.connection.stream.destroy(), goodbyeMsMax);
      timer.unref();
      this.connection.once("end", () => clearTimeout(timer));
      return callback === undefined ? super.end() : super.end(callback);
    }
  };
}

/**
 * Real timers for this adapter. They limit the time spent waiting for the server and its driver, which simulations
 * never replace.
 */
export const realTime: Pick<Clock, "schedule"> = {
  schedule(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Timers for optional work. They do not keep the process alive. */
export const spareTime: Pick<Clock, "schedule" | "monotonicMs"> = {
  monotonicMs: () => performance.now(),
  schedule(delayMs, callback) {
    const timer = setTimeout(callback, delayMs).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

type Driver = typeof pg;

/** Loads pg when a PostgreSQL store is opened, because installations without PostgreSQL do not need it. */
export async function loadDriver(lookup?: LookupFunction): Promise<Driver> {
  const { default: driver } = await import("pg");
  return lookup === undefined ? driver : { ...driver, Client: clientWith(driver, lookup) };
}

function clientWith(driver: Driver, lookup: LookupFunction): Driver["Client"] {
  return class extends driver.Client {
    constructor(config?: string | pg.ClientConfig) {
      const given = typeof config === "string" ? { connectionString: config } : config;
      super({ ...given, stream: () => socketWith(lookup) });
    }
  };
}

/** pg connects the socket itself, with a port and host or with a path. */
function socketWith(lookup: LookupFunction): Socket {
  const socket = new Socket();
  const connect = socket.connect.bind(socket);
  const connectByName = (place: number | string, host?: string): Socket =>
    host === undefined ? connect(String(place)) : connect({ port: Number(place), host, lookup });
  return Object.assign(socket, { connect: connectByName });
}

export interface Address {
  readonly url: string;
  /** `host:port/database` for messages, without user and password. */
  readonly at: string;
}

/** Validates the form of the URL. Error messages never contain the URL, because it contains the password. */
export function parseAddress(url: string): Address {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const hosts = `${/^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(url)?.[1] ?? ""},${parsed?.searchParams.get("host") ?? ""}`;
  if (hosts.split(",").filter((host) => host !== "").length > 1 || /[?&]target_session_attrs=/.test(url)) {
    throw new DatabaseSetupError(
      "invalid_url",
      "the address of the database names several hosts, which Posthorn does not choose between: name one address that " +
        "leads to the primary, such as a virtual IP, a DNS name that follows the primary, or a proxy such as HAProxy",
    );
  }
  if (parsed === null || !/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw new DatabaseSetupError(
      "invalid_url",
      "the address of the database is not a URL like postgres://user:password@host:5432/name, with special characters " +
        "of the password percent-encoded",
    );
  }
  // User and password end at the first `/`, `?` or `#`. Anything after that would be shown as port and database.
  const names = [...parsed.searchParams.keys()].join();
  if ([parsed.username, parsed.password, parsed.pathname].some((part) => !isDecodable(part))) {
    throw new DatabaseSetupError(
      "invalid_url",
      "user, password or database in the address of the database contains a % that is not written as %25",
    );
  }
  if (parsed.hash !== "" || /@/.test(parsed.pathname + names)) {
    throw new DatabaseSetupError(
      "invalid_url",
      "the address of the database has a misplaced @ or #: write special characters of user and password " +
        "percent-encoded, such as %40 for @, %2F for /, %3F for ? and %23 for #",
    );
  }
  const host = parsed.searchParams.get("host") ?? (parsed.hostname === "" ? "localhost" : parsed.hostname);
  const port = parsed.searchParams.get("port") ?? (parsed.port === "" ? "5432" : parsed.port);
  return { url, at: `${host}:${port}${parsed.pathname === "/" ? "" : parsed.pathname}` };
}

const parsers: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [16, (text) => text === "t"],
  [17, bytesOf],
  [20, safeInteger],
  [21, Number],
  [23, Number],
  [701, Number],
]);

/** Parsers only for the types in our tables. A bigint becomes a number, because all our times and positions fit. */
export const columnTypes = {
  getTypeParser: (oid: number) => parsers.get(oid) ?? ((text: string) => text),
};

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`stored number ${text} is too large`);
  return value;
}

/** Converts to a plain Uint8Array as required by the port, not a Buffer. */
function bytesOf(text: string): Uint8Array {
  const buffer = Buffer.from(text.slice(2), "hex");
  // Node stops at the first character that is not a hex digit, so bytes in another format would be read as empty.
  if (!text.startsWith("\\x") || buffer.length * 2 !== text.length - 2)
    throw new RangeError("stored bytes are not in hexadecimal form: is bytea_output set by something else?");
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}
