import type { LaneKey } from "../../core/webhook.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { StoreChange } from "../../ports/store/changes.ts";
import type { ConfigChange } from "../../ports/store/config-changes.ts";
import type { Store } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Directory } from "../directory.ts";
import type { Lane } from "../lane.ts";
import type { Wakeups } from "../wakeups.ts";
import type { ConfigSync } from "./config-sync.ts";

export interface StoreListenerOptions {
  readonly store: Pick<Store, "changes" | "deliveries">;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly directory: Directory;
  readonly wakeups: Wakeups;
  readonly sync: ConfigSync;
  /** Whether this process delivers; others only care for configuration. */
  readonly delivers: boolean;
  readonly consider: (lane: Lane) => void;
  readonly wanted: (webhookId: string) => void;
  readonly ordered: () => void;
}

/**
 * Hears what other processes leave to do, and looks by itself from time to time: rarely where announcements come, often
 * where a pooler carries none.
 */
export class StoreListener {
  readonly #options: StoreListenerOptions;
  #unsubscribe: () => void = () => undefined;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(options: StoreListenerOptions) {
    this.#options = options;
  }

  start(): void {
    const { changes } = this.#options.store;
    if (changes !== undefined) this.#unsubscribe = changes.subscribe((change) => this.#heard(change));
    this.#lookLater();
  }

  stop(): void {
    this.#stopped = true;
    this.#unsubscribe();
    this.#timer?.cancel();
  }

  #heard(change: StoreChange): void {
    if (change.kind === "lanes") this.#lanes(change.lanes);
    else if (change.kind === "config") this.#config(change.change);
    else {
      void this.#options.sync.reloadAll();
      void this.#lookEverywhere();
    }
  }

  #lanes(keys: readonly LaneKey[]): void {
    const { delivers, directory, wanted } = this.#options;
    if (!delivers) return;
    for (const key of keys) {
      const endpoint = directory.get(key.webhookId);
      // One that is not known here was made a moment ago; who takes it reads it.
      if (endpoint?.owned !== true) wanted(key.webhookId);
      else this.#lookInto(endpoint.lane(key));
    }
  }

  /** A sleeping ordered lane has perhaps another head now. Asked at most once a second, however much is published. */
  #lookInto(lane: Lane): void {
    const { clock, consider, wakeups } = this.#options;
    lane.markAllMore();
    if (lane.ordered && lane.wakeAt !== null) wakeups.at(lane, clock.now() + headLookMs);
    else consider(lane);
  }

  #config(change: ConfigChange): void {
    const { sync, ordered } = this.#options;
    if (change.kind === "webhooks") this.#guard(sync.load(change.webhookIds));
    if (change.kind === "tenant_keys") this.#guard(sync.loadTenantKeys(change.tenantIds));
    if (change.kind === "orders") ordered();
  }

  #guard(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#options.telemetry.log.warn(
        { err: String(error) },
        "a change of another process could not be read; the next reload finds it",
      );
    });
  }

  #lookLater(): void {
    const { clock, delivers, store } = this.#options;
    if (!delivers || this.#stopped) return;
    this.#timer = clock.schedule(store.changes === undefined ? lookOftenMs : lookRarelyMs, () => {
      void this.#lookEverywhere().then(() => this.#lookLater());
    });
  }

  /** Every lane with work of the endpoints that are served here. Names of lanes, not deliveries. */
  async #lookEverywhere(): Promise<void> {
    const { store, telemetry, delivers, directory } = this.#options;
    if (!delivers) return;
    try {
      for (let after: string | null = null; !this.#stopped; ) {
        const page = await store.deliveries.lanesWithWork({ after, limit: lanesPage });
        for (const key of page.lanes) {
          const endpoint = directory.get(key.webhookId);
          if (endpoint?.owned === true) this.#lookInto(endpoint.lane(key));
        }
        if (page.next === null) return;
        after = page.next;
      }
    } catch (error) {
      telemetry.log.warn({ err: String(error) }, "lanes with work could not be read; trying again later");
    }
  }
}

const headLookMs = 1_000;
const lookOftenMs = 1_000;
const lookRarelyMs = 30_000;
const lanesPage = 500;
