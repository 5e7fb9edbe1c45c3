import { randomBytes } from "node:crypto";
import type pg from "pg";
import type { StoreChange, StoreChanges } from "../../../ports/store/changes.ts";
import { lanesOf, workChannel } from "./announcer.ts";
import { configChangeOf, configChannel } from "./config-changes.ts";
import type { ControlConnection } from "./control-connection.ts";
import type { Runner } from "./database.ts";
import type { StoreState } from "./state.ts";

export interface NotificationsOptions {
  /** Leads to the server directly: a pooler in transaction mode does not carry notifications. */
  readonly control: ControlConnection;
  /** Of the present incarnation of the database. */
  readonly numbers: () => Pick<StoreState, "processNumber" | "lanes">;
  /** Other connections than the one that listens, opened again every few seconds. */
  readonly announcing: Runner;
}

/** How often it makes sure that it hears what others announce now. */
const proofMs = 2_000;
/** After this time without a proof it listens again. */
const silentMsMax = 5_000;

/** It need not survive a crash, so that it waits for no disk and no standby. */
const proofSql = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')";

/**
 * The other end of announcer.ts and config-changes.ts: hears what other processes announce, from the first listener on. Whenever
 * it listens again, listeners are notified that they may have missed something.
 *
 * That a connection answers proves nothing: it may lead to a server that others left. So it sends itself a notification
 * every few seconds, over a connection of those that announce, and listens again when none arrives.
 */
export class Notifications implements StoreChanges {
  readonly #options: NotificationsOptions;
  readonly #listeners = new Set<(change: StoreChange) => void>();
  readonly #proofChannel: string;
  #timer: NodeJS.Timeout | null = null;
  #heardMs = 0;
  /** How long the connection before had heard nothing when it was given up. */
  #silentMs: number | undefined;
  #isProving = false;

  constructor(options: NotificationsOptions) {
    this.#options = options;
    this.#proofChannel = `posthorn_proof_${randomBytes(6).toString("hex")}`;
  }

  subscribe(listener: (change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    if (this.#timer === null) this.#start();
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#listeners.clear();
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  #start(): void {
    this.#options.control.keepOpen({ opened: (client) => this.#listen(client) });
    this.#timer = setInterval(() => void this.#prove(), proofMs);
    this.#timer.unref();
  }

  async #listen(client: pg.Client): Promise<void> {
    client.on("notification", ({ channel, payload = "" }) => {
      if (channel === this.#proofChannel) this.#heardMs = performance.now();
      else if (channel === configChannel) this.#heardConfig(payload);
      else void this.#heard(payload);
    });
    await client.query(`LISTEN ${workChannel}; LISTEN ${configChannel}; LISTEN ${this.#proofChannel}`);
    this.#heardMs = performance.now();
    this.#notify({ kind: "unknown", ...(this.#silentMs !== undefined && { silentMs: this.#silentMs }) });
    this.#silentMs = undefined;
  }

  async #prove(): Promise<void> {
    const { control, announcing } = this.#options;
    const silentMs = performance.now() - this.#heardMs;
    if (control.isOpen && silentMs > silentMsMax) {
      this.#silentMs = silentMs;
      control.abandon();
    }
    if (this.#isProving) return;
    this.#isProving = true;
    // Where nothing can be announced, nothing can be missed, and the next proof tells.
    await announcing.rows(proofSql, [this.#proofChannel]).catch(() => undefined);
    this.#isProving = false;
  }

  async #heard(payload: string): Promise<void> {
    const { processNumber, lanes } = this.#options.numbers();
    const refs = lanesOf(payload, processNumber);
    if (refs === undefined) return;
    if (refs === null) return this.#notify({ kind: "unknown" });
    try {
      await lanes.load(refs);
      this.#notify({ kind: "lanes", lanes: refs.map((ref) => lanes.byRef(ref).key) });
    } catch {
      this.#notify({ kind: "unknown" });
    }
  }

  #heardConfig(payload: string): void {
    const change = configChangeOf(payload, this.#options.numbers().processNumber);
    if (change !== null) this.#notify({ kind: "config", change });
  }

  #notify(change: StoreChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
