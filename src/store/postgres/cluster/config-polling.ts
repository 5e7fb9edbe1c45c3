import type { StoreChange, StoreChanges } from "../../../ports/store/changes.ts";
import { Loop } from "../../../ports/timing/loop.ts";
import { configChangeOf } from "./config-changes.ts";
import type { Runner } from "../driver/database.ts";
import type { Incarnations } from "../driver/server.ts";
import { spareTime } from "../driver/driver.ts";

export interface ConfigPollingOptions {
  readonly database: Runner;
  readonly incarnations: Pick<Incarnations, "watch">;
  readonly processNumber: () => number;
  readonly clock?: typeof spareTime;
}

/** Delay until a change is seen. One index lookup costs the server some microseconds. */
const pauseMs = 1_000;

/**
 * Receives the changes of ConfigAnnouncer where no connection can listen: reads new announcements once a second.
 *
 * A number is assigned after its change is committed. An announcement may become visible after a younger one, or be
 * deleted before it is read. In both cases a number is missing, and all configuration is reloaded.
 */
export class ConfigPolling implements StoreChanges {
  readonly carriesWork = false;
  readonly #options: ConfigPollingOptions;
  readonly #listeners = new Set<(change: StoreChange) => void>();
  readonly #unwatch: () => void;
  readonly #loop: Loop;
  /** Number of the last change that was read. Null at the start and after the database was replaced: reload everything. */
  #seq: number | null = null;
  #isStarted = false;

  constructor(options: ConfigPollingOptions) {
    this.#options = options;
    this.#unwatch = options.incarnations.watch(() => (this.#seq = null));
    this.#loop = new Loop({
      clock: options.clock ?? spareTime,
      round: () => this.#look(),
      pauseMs: () => pauseMs,
      // The next round reads the same changes again.
      failed: () => undefined,
    });
  }

  subscribe(listener: (change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    if (!this.#isStarted) this.#loop.start();
    this.#isStarted = true;
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#unwatch();
    await this.#loop.stop();
  }

  async #look(): Promise<void> {
    const { database, processNumber } = this.#options;
    const since = this.#seq;
    if (since === null) {
      const [row] = await database.rows<[seq: number]>(
        "SELECT coalesce(max(seq), 0) FROM posthorn.config_changes",
      );
      this.#seq = row?.[0] ?? 0;
      this.#notify({ kind: "unknown" });
      return;
    }
    const rows = await database.rows<[seq: number, payload: string]>(
      "SELECT seq, payload FROM posthorn.config_changes WHERE seq > $1 ORDER BY seq",
      [since],
    );
    const last = rows.at(-1)?.[0] ?? since;
    // A restart of the database during the read has reset the number; keep that.
    if (this.#seq === since) this.#seq = last;
    if (last - since > rows.length) this.#notify({ kind: "unknown" });
    for (const [, payload] of rows) {
      const change = configChangeOf(payload, processNumber());
      if (change !== null) this.#notify({ kind: "config", change });
    }
  }

  #notify(change: StoreChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
