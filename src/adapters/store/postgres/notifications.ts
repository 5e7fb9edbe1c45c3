import type pg from "pg";
import type { StoreChange, StoreChanges } from "../../../ports/store/changes.ts";
import { lanesOf, workChannel } from "./announcer.ts";
import { configChangeOf, configChannel } from "./config-changes.ts";
import { isConnectionLoss } from "./errors.ts";
import type { Lanes } from "./words.ts";

export interface NotificationsOptions {
  readonly driver: typeof pg;
  /** A direct connection: a pooler in transaction mode does not carry notifications. */
  readonly url: string;
  readonly owner: number;
  readonly lanes: Lanes;
  readonly connectTimeoutMs: number;
}

/** A server that ended one connection usually takes the next one at once. */
const againMsMin = 250;
/** While nothing is heard, new work of owned webhooks is found late, so that the server is not waited for any longer. */
const againMsMax = 2_000;
/** How often to make sure that the connection still lives; a firewall may have forgotten it. */
const probeMs = 30_000;

/**
 * The other end of announcer.ts and config-changes.ts: hears what other processes announce, over one connection of its own that is opened for the first listener. When it is
 * lost it is made again, and listeners hear that they may have missed something.
 */
export class Notifications implements StoreChanges {
  readonly #options: NotificationsOptions;
  readonly #listeners = new Set<(change: StoreChange) => void>();
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | null = null;
  #againMs = againMsMin;
  #isConnected = false;
  #isStarted = false;
  #closed = false;

  constructor(options: NotificationsOptions) {
    this.#options = options;
  }

  subscribe(listener: (change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    if (!this.#isStarted) void this.#connect();
    this.#isStarted = true;
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    if (this.#timer !== null) clearTimeout(this.#timer);
    // A connection that is still being made ends when it is there, or when its time is up.
    if (this.#isConnected) await this.#client?.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    const { driver, url, connectTimeoutMs } = this.#options;
    const client = new driver.Client({
      connectionString: url,
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: connectTimeoutMs,
      keepAlive: true,
      application_name: "posthorn listener",
    });
    client.on("error", () => this.#lost(client));
    client.on("end", () => this.#lost(client));
    client.on("notification", ({ channel, payload }) => {
      if (channel === configChannel) this.#heardConfig(payload ?? "");
      else void this.#heard(payload ?? "");
    });
    this.#client = client;
    try {
      await client.connect();
      await client.query(`LISTEN ${workChannel}; LISTEN ${configChannel}`);
    } catch {
      this.#lost(client);
      return;
    }
    if (this.#closed) {
      await client.end().catch(() => undefined);
      return;
    }
    this.#isConnected = true;
    this.#againMs = againMsMin;
    this.#tell({ kind: "unknown" });
    this.#later(probeMs, () => void this.#probe(client));
  }

  async #probe(client: pg.Client): Promise<void> {
    try {
      await client.query("SELECT 1");
      if (this.#client === client) this.#later(probeMs, () => void this.#probe(client));
    } catch (error) {
      if (isConnectionLoss(error)) this.#lost(client);
    }
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client || this.#closed) return;
    this.#client = null;
    this.#isConnected = false;
    void client.end().catch(() => undefined);
    const againMs = this.#againMs;
    this.#againMs = Math.min(againMsMax, againMs * 2);
    this.#later(againMs, () => {
      void this.#connect();
    });
  }

  #later(delayMs: number, work: () => void): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(work, delayMs);
    this.#timer.unref();
  }

  async #heard(payload: string): Promise<void> {
    const { owner, lanes } = this.#options;
    const refs = lanesOf(payload, owner);
    if (refs === undefined) return;
    if (refs === null) return this.#tell({ kind: "unknown" });
    try {
      await lanes.load(refs);
      this.#tell({ kind: "lanes", lanes: refs.map((ref) => lanes.byRef(ref).key) });
    } catch {
      this.#tell({ kind: "unknown" });
    }
  }

  #heardConfig(payload: string): void {
    const change = configChangeOf(payload, this.#options.owner);
    if (change !== null) this.#tell({ kind: "config", change });
  }

  #tell(change: StoreChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
