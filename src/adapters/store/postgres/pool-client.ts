import type pg from "pg";

/** If the server has not closed the connection this long after `end()`, treat it as dead. */
const goodbyeMsMax = 2_000;

/**
 * Limits connections as the server counts them: a connection that is being closed counts until the server has closed
 * it. If packets are lost, that cannot be observed, and its slot is freed after some seconds.
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

export interface ClientParts {
  readonly places: ServerPlaces;
  /** Sent at the start of each connection. */
  readonly parameters?: () => Partial<pg.ClientConfig>;
}

/**
 * A pg client that connects when a slot is free, and returns the slot when its connection is closed.
 *
 * It also closes a connection that failed to open. pg itself leaves it open, for example if the server requires a
 * password and none is set, and it would delay the end of the program until the server closes it.
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
      // The pool ends a client that takes too long in this way.
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
