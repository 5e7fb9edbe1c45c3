import { eventually } from "../scenarios/eventually.fixture.ts";
import { CuttingProxy } from "./cutting-proxy.fixture.ts";
import { PostgresServer } from "./postgres-server.fixture.ts";

/** With `synchronous`, committed data is also on the standby. */
export type Replication = "synchronous" | "asynchronous";

const attachedWithinMs = 240_000;

/** A primary and its standby, behind an address that can be switched. */
export class PostgresPair {
  /** The URL that clients use. */
  readonly address: CuttingProxy;
  /** The network between the primary and the standby. */
  #wire: CuttingProxy | null = null;
  #primary: PostgresServer;
  #standby: PostgresServer | null = null;
  /** Former primaries that still run. */
  readonly #old: PostgresServer[] = [];

  private constructor(primary: PostgresServer, address: CuttingProxy) {
    this.#primary = primary;
    this.address = address;
  }

  /** Starts a primary without a standby. */
  static async start(): Promise<PostgresPair> {
    const primary = await PostgresServer.start();
    return new PostgresPair(primary, await CuttingProxy.to(primary.port));
  }

  get url(): string {
    return this.address.addressOf(this.#primary.url);
  }

  get primary(): PostgresServer {
    return this.#primary;
  }

  /** Disconnects the standby. From now on, it receives nothing from the primary. */
  async cutWire(): Promise<void> {
    await this.#wire?.cut();
  }

  /** Promotes the standby. The former primary keeps running until it is stopped. */
  async promote(): Promise<void> {
    const next = this.#standby;
    if (next === null) throw new Error("there is no standby");
    await next.query("SELECT pg_promote(true, 60)");
    this.#old.push(this.#primary);
    this.#primary = next;
    this.#standby = null;
  }

  /** From now on, new connections lead to the current primary. */
  moveAddress(): void {
    this.address.lead(this.#primary.port);
  }

  /** Stops former primaries, and creates a new standby for the current primary. */
  async rebuild(replication: Replication): Promise<void> {
    for (const server of this.#old.splice(0)) await server.remove();
    await this.#wire?.close();
    this.#wire = await CuttingProxy.to(this.#primary.port);
    this.#standby = await PostgresServer.standbyOf(this.#wire.port);
    if (replication === "synchronous") {
      await this.#primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
      await this.#primary.query("SELECT pg_reload_conf()");
    }
    await eventually("the standby follows", {
      ask: () => this.#primary.query("SELECT state, sync_state FROM pg_stat_replication"),
      holds: ([row]) => row?.["state"] === "streaming" && row["sync_state"] === wanted[replication],
      withinMs: attachedWithinMs,
    });
  }

  async remove(): Promise<void> {
    await this.address.close();
    await this.#wire?.close();
    const servers = [...this.#old, this.#primary, ...(this.#standby === null ? [] : [this.#standby])];
    await Promise.all(servers.map((server) => server.remove()));
  }
}

const wanted = { synchronous: "sync", asynchronous: "async" } as const;
