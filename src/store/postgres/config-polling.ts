import type { StoreChange, StoreChanges } from "../../ports/store/changes.ts";
import { Loop } from "../../ports/timing/loop.ts";
import { configChangeOf } from "./cluster/config-changes.ts";
import type { Runner } from "./driver/database.ts";
import type { Incarnations } from "./driver/server.ts";
import { spareTime } from "./driver/driver.ts";

export interface ConfigPollingOptions {
  readonly database: Runner;
  readonly incarnations: Pick<Incarnations, "watch">;
  readonly processNumber: () => number;
  readonly clock?: typeof spareTime;
}

/** How late a change is known. One look at an index costs the server some microseconds. */
const pauseMs = 1_000;

/**
 * The other end of ConfigAnnouncer where no connection can listen: reads what was announced since the last look.
 *
 * Numbers are drawn after the change is committed, and an announcement may become visible after a younger one, or be
 * deleted before it is read. Either way a number is missing, and then all configuration is read again.
 */
export class ConfigPolling implements StoreChanges {
  readonly carriesWork = false;
  readonly #options: ConfigPollingOptions;
  readonly #listeners = new Set<(change: StoreChange) => void>();
  readonly #unwatch: () => void;
  readonly #loop: Loop;
  /** The last number that was read; null where numbers of before say nothing. */
  #seq: number | null = null;
  #isStarted = false;

  constructor(options: ConfigPollingOptions) {
    this.#options = options;
    this.#unwatch = options.incarnations.watch(() => (this.#seq = null));
    this.#loop = new Loop({
      clock: options.clock ?? spareTime,
      round: () => this.#look(),
      pauseMs: () => pauseMs,
      // The next look finds what this one missed.
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
    // Not over what a restart of the database said while this was read.
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
