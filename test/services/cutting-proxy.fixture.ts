import { createServer, connect, type Server, type Socket } from "node:net";
import { codeOf } from "../../src/domain/thrown.ts";
import { freePort } from "./own-process.fixture.ts";

/**
 * The network between a client and a server, which a test can disrupt. `cut` resets connections and refuses new ones.
 * `lead` moves the address. `stall` silently withholds packets, and `loseAnswers` withholds those of one direction.
 * `delay` adds latency. `restore` ends all of these; withheld data then arrives, like retransmitted packets. `strand`
 * permanently drops the packets of existing connections.
 */
export class CuttingProxy {
  readonly port: number;
  #target: number;
  readonly #roads = new Set<Road>();
  #state: NetworkState = { isStalled: false, losesAnswers: false, delayMs: 0, strandsAt: null };
  #server: Server | null = null;

  private constructor(port: number, target: number) {
    this.port = port;
    this.#target = target;
  }

  /** Opens a proxy to `target` on this machine. */
  static async to(target: number): Promise<CuttingProxy> {
    for (;;) {
      const proxy = new CuttingProxy(await freePort(), target);
      try {
        await proxy.#listen();
        return proxy;
      } catch (error) {
        // A different process has taken the port since it was found unused.
        if (codeOf(error) !== "EADDRINUSE") throw error;
      }
    }
  }

  /** The given URL with the proxy's port. */
  addressOf(url: string): string {
    const through = new URL(url);
    through.port = String(this.port);
    return through.href;
  }

  get connectionsOpen(): number {
    return this.#roads.size;
  }

  async cut(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    const closed = new Promise((resolve) => (server === null ? resolve(null) : server.close(resolve)));
    for (const road of this.#roads) road.reset();
    await closed;
  }

  stall(): void {
    this.#state.isStalled = true;
    for (const road of this.#roads) road.look();
  }

  /**
   * New connections go to a different target. Existing connections are not changed: working ones continue, and stalled
   * ones stay stalled.
   */
  lead(target: number): void {
    this.#target = target;
    this.#state = { isStalled: false, losesAnswers: false, delayMs: 0, strandsAt: null };
  }

  /** Data from clients still arrives, but data from servers is withheld. */
  loseAnswers(): void {
    this.#state.losesAnswers = true;
    for (const road of this.#roads) road.look();
  }

  /**
   * Existing connections transfer nothing any more, as when an address moves to a different machine. New connections
   * work.
   */
  strand(): void {
    for (const road of this.#roads) road.strand();
  }

  /**
   * Strands the next connection on which a client sends this text, either before the server receives the text or before
   * the server responds. Resolves when the connection is stranded.
   */
  strandAt(text: string, { isHeard = false } = {}): Promise<void> {
    const happened = Promise.withResolvers<undefined>();
    this.#state.strandsAt = { text, isHeard, happened: () => happened.resolve(undefined) };
    return happened.promise;
  }

  /** Adds this latency in both directions. */
  delay(delayMs: number): void {
    this.#state.delayMs = delayMs;
  }

  async restore(): Promise<void> {
    this.#state.isStalled = false;
    this.#state.losesAnswers = false;
    this.#state.delayMs = 0;
    for (const road of this.#roads) road.look();
    if (this.#server === null) await this.#listen();
  }

  async close(): Promise<void> {
    await this.cut();
  }

  async #listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
      const road = new Road(client, { target: this.#target, state: this.#state });
      this.#roads.add(road);
      road.ended = () => this.#roads.delete(road);
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.port, "127.0.0.1", resolve);
    });
  }
}

interface NetworkState {
  isStalled: boolean;
  losesAnswers: boolean;
  delayMs: number;
  strandsAt: { readonly text: string; readonly isHeard: boolean; readonly happened: () => void } | null;
}

/** One connection through the proxy. */
class Road {
  readonly #client: Socket;
  readonly #target: number;
  readonly #state: NetworkState;
  #upstream: Socket | null = null;
  #lanes: readonly Way[] = [];
  ended: () => void = () => undefined;

  constructor(client: Socket, { target, state }: { readonly target: number; readonly state: NetworkState }) {
    this.#client = client;
    this.#target = target;
    this.#state = state;
    client.on("error", () => undefined);
    client.once("close", () => this.#oneClosed());
    this.look();
  }

  /** Called when the state of the network has changed. */
  look(): void {
    if (this.#upstream === null && !this.#state.isStalled && !this.#client.destroyed) this.#connect();
    for (const way of this.#lanes) way.move();
  }

  strand(): void {
    for (const way of this.#lanes) way.strand();
  }

  reset(): void {
    reset(this.#client);
    if (this.#upstream !== null) reset(this.#upstream);
    if (this.#upstream === null) this.ended();
  }

  #connect(): void {
    const upstream = connect({ host: "127.0.0.1", port: this.#target, allowHalfOpen: true });
    this.#upstream = upstream;
    upstream.setNoDelay(true);
    this.#client.setNoDelay(true);
    upstream.on("error", () => undefined);
    upstream.once("close", () => this.#oneClosed());
    upstream.once("connect", () => {
      this.#lanes = [
        new Way(
          { from: this.#client, to: upstream, isAnswer: false, strand: () => this.strand() },
          this.#state,
        ),
        new Way(
          { from: upstream, to: this.#client, isAnswer: true, strand: () => this.strand() },
          this.#state,
        ),
      ];
    });
  }

  /** While packets are dropped, the other side does not notice that a connection was closed. */
  #oneClosed(): void {
    const upstream = this.#upstream;
    if (upstream?.destroyed === true && !this.#client.destroyed && this.#lanes.length === 0)
      reset(this.#client);
    if (this.#client.destroyed && (upstream === null || upstream.destroyed)) this.ended();
  }
}

interface WayParts {
  readonly from: Socket;
  readonly to: Socket;
  readonly isAnswer: boolean;
  /** Strands both directions of the connection. */
  readonly strand: () => void;
}

/** One direction of a connection. */
class Way {
  readonly #isAnswer: boolean;
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #state: NetworkState;
  readonly #waiting: { readonly what: Buffer | "end" | "reset"; readonly dueMs: number }[] = [];
  readonly #strandBoth: () => void;
  #timer: NodeJS.Timeout | null = null;
  #isStranded = false;

  constructor({ from, to, isAnswer, strand }: WayParts, state: NetworkState) {
    this.#isAnswer = isAnswer;
    this.#strandBoth = strand;
    this.#from = from;
    this.#to = to;
    this.#state = state;
    from.on("data", (chunk: Buffer) => this.#take(chunk));
    from.once("end", () => this.#take("end"));
    from.once("close", (hadError) => this.#take(hadError || !from.readableEnded ? "reset" : "end"));
    to.on("drain", () => this.move());
    this.move();
  }

  strand(): void {
    this.#isStranded = true;
    this.move();
  }

  #take(what: Buffer | "end" | "reset"): void {
    const { strandsAt } = this.#state;
    if (!this.#isAnswer && strandsAt !== null && typeof what !== "string" && what.includes(strandsAt.text)) {
      this.#state.strandsAt = null;
      if (strandsAt.isHeard) this.#pass(what);
      this.#strandBoth();
      strandsAt.happened();
    }
    this.#waiting.push({ what, dueMs: performance.now() + this.#state.delayMs });
    this.move();
  }

  move(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#isStranded || this.#state.isStalled || (this.#isAnswer && this.#state.losesAnswers)) {
      this.#from.pause();
      return;
    }
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      const earlyMs = this.#state.delayMs === 0 ? 0 : next.dueMs - performance.now();
      if (earlyMs > 0) {
        this.#timer = setTimeout(() => this.move(), earlyMs);
        break;
      }
      this.#waiting.shift();
      this.#pass(next.what);
    }
    if (this.#to.writableNeedDrain) this.#from.pause();
    else this.#from.resume();
  }

  #pass(what: Buffer | "end" | "reset"): void {
    if (this.#to.destroyed) return;
    if (what === "end") this.#to.end();
    else if (what === "reset") reset(this.#to);
    else this.#to.write(what);
  }
}

/**
 * Resets the connection, unless this side has already sent its end. Such a socket cannot be reset, and its handle would
 * stay open.
 */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
