import { randomBytes } from "node:crypto";
import type pg from "pg";
import type { StoreChange, StoreChanges } from "../../../ports/store/changes.ts";
import { lanesOf, workChannel } from "./announcer.ts";
import { configChangeOf, configChannel } from "./config-changes.ts";
import type { ControlConnection } from "../driver/control-connection.ts";
import type { Runner } from "../driver/database.ts";
import type { StoreState } from "../state.ts";

export interface NotificationsOptions {
  /** A direct connection to the server: a pooler in transaction mode does not carry notifications. */
  readonly control: ControlConnection;
  /** The parts of the current server run. */
  readonly numbers: () => Pick<StoreState, "processNumber" | "lanes">;
  /** Connections other than the listening one, reopened every few seconds. */
  readonly announcing: Runner;
}

/** How often it verifies that it receives what others announce now. */
const proofMs = 2_000;
/** Without a proof for this time, it listens again. */
const silentMsMax = 5_000;

/** Does not need to survive a crash, so it waits for no disk and no standby. */
const proofSql = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')";

/**
 * The counterpart of announcer.ts and config-changes.ts: receives announcements of other processes, from the first
 * listener on. Whenever it listens again, listeners are notified that they may have missed something.
 *
 * An answering connection proves nothing: it may lead to a server that others left. So it sends itself a notification
 * every few seconds, over one of the announcing connections, and listens again when none arrives.
 */
export class Notifications implements StoreChanges {
  readonly carriesWork = true;
  readonly #options: NotificationsOptions;
  readonly #listeners = new Set<(change: StoreChange) => void>();
  readonly #proofChannel: string;
  #timer: NodeJS.Timeout | null = null;
  #heardMs = 0;
  /** How long the previous connection had received nothing when it was dropped. */
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
    // While nothing can be announced, nothing can be missed; the next proof decides.
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
