import { systemClock } from "../adapters/system/clock.ts";
import type { Readiness } from "../api/server.ts";
import type { Settings } from "../config/options.ts";
import type { Engine } from "../engine/engine.ts";
import type { SharedState } from "../ports/shared-state.ts";
import { storeTroubles } from "../ports/store.ts";
import type { Store, StoreTrouble } from "../ports/store.ts";
import { shortageTexts } from "../ports/transport.ts";
import type { WorkQueue } from "../ports/work-queue.ts";
import { StoreProbe } from "./store-probe.ts";

/** The sources of a process's readiness. */
export interface ReadingSources {
  readonly engine: Pick<Engine, "activity">;
  readonly store: Store;
  readonly companions: {
    readonly workQueue: Pick<WorkQueue, "isConnected"> | null;
    readonly sharedState: Pick<SharedState, "isAvailable"> | null;
  };
  readonly settings: Pick<Settings, "roles">;
}

/**
 * Readiness of a process, by dependency and role. Without the queue or the shared state it still does all its work,
 * slower or less evenly. So their outage is reported, but the process stays ready.
 */
export class Readings {
  readonly #sources: ReadingSources;
  readonly #delivers: boolean;
  readonly #probe: StoreProbe;
  /** Lifecycle phase of the process. */
  phase: "starting" | "running" | "draining" = "starting";

  constructor(of: ReadingSources) {
    this.#sources = of;
    this.#delivers = of.settings.roles.includes("worker");
    this.#probe = new StoreProbe(of.store, systemClock);
    this.#probe.start();
  }

  readiness(): Readiness {
    const { engine, companions } = this.#sources;
    const { workQueue, sharedState } = companions;
    const { storeTrouble, shortage, holds } = engine.activity();
    // Damage also affects reads; a full disk affects only writes.
    const trouble = this.#probe.trouble ?? storeTrouble;
    const obstacles = [
      ...(this.phase === "running" ? [] : [this.phase]),
      ...(trouble === null ? [] : ["store_unavailable", ...codes[trouble]]),
      // Other workers may already serve its webhooks, so it sends nothing until its heartbeat succeeds again.
      ...(this.#delivers && !holds && this.phase !== "starting" ? ["worker_suspended"] : []),
    ];
    const flaws = [
      ...(workQueue?.isConnected === false ? ["queue_unavailable"] : []),
      ...(sharedState?.isAvailable === false ? ["shared_state_unavailable"] : []),
      ...(shortage === null ? [] : ["local_shortage"]),
    ];
    const details = [
      ...(trouble === null || trouble === "away" ? [] : [storeTroubles[trouble]]),
      ...(shortage === null ? [] : [shortageTexts[shortage]]),
    ];
    return { ready: obstacles.length === 0, reasons: [...obstacles, ...flaws], details };
  }

  stop(): void {
    this.#probe.stop();
  }
}

/** Additional codes besides `store_unavailable`. */
const codes: Readonly<Record<StoreTrouble, readonly string[]>> = {
  away: [],
  standby: ["store_is_standby"],
  read_only: ["store_is_read_only"],
  waits_for_standby: ["store_waits_for_standby"],
  disk_full: ["disk_full"],
  damaged: ["store_damaged"],
};
