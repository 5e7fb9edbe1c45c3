import { systemClock } from "../adapters/system/clock.ts";
import type { Readiness } from "../api/server.ts";
import type { Settings } from "../config/options.ts";
import type { Engine } from "../engine/engine.ts";
import type { SharedState } from "../ports/shared-state.ts";
import type { Store } from "../ports/store.ts";
import type { WorkQueue } from "../ports/work-queue.ts";
import { StoreProbe } from "./store-probe.ts";

/** What a process reads its own state from. */
export interface ReadingSources {
  readonly engine: Pick<Engine, "activity">;
  readonly store: Store;
  readonly companions: {
    readonly workQueue: Pick<WorkQueue, "isConnected"> | null;
    readonly sharedState: Pick<SharedState, "isAvailable"> | null;
  };
  readonly settings: Pick<Settings, "roles" | "databaseUrl">;
}

/**
 * How a process is, dependency by dependency and role by role. Without the queue or the shared state it does all its work,
 * slower or less evenly, so their absence is told and takes it out of no service.
 */
export class Readings {
  readonly #sources: ReadingSources;
  readonly #delivers: boolean;
  readonly #probe: StoreProbe | null;
  /** What the process as a whole is about. */
  phase: "starting" | "running" | "draining" = "starting";

  constructor(of: ReadingSources) {
    this.#sources = of;
    this.#delivers = of.settings.roles.includes("worker");
    // A file does not go away; that it cannot be written, commits tell.
    this.#probe = of.settings.databaseUrl === null ? null : new StoreProbe(of.store, systemClock);
    this.#probe?.start();
  }

  readiness(): Readiness {
    const { engine, companions } = this.#sources;
    const { workQueue, sharedState } = companions;
    const { storeHealthy, holds } = engine.activity();
    const isStoreThere = storeHealthy && (this.#probe?.healthy ?? true);
    const obstacles = [
      ...(this.phase === "running" ? [] : [this.phase]),
      ...(isStoreThere ? [] : ["store_unavailable"]),
      // Other workers may serve its webhooks by now, so it sends nothing until the store hears of it again.
      ...(this.#delivers && !holds && this.phase !== "starting" ? ["worker_suspended"] : []),
    ];
    const flaws = [
      ...(workQueue?.isConnected === false ? ["queue_unavailable"] : []),
      ...(sharedState?.isAvailable === false ? ["shared_state_unavailable"] : []),
    ];
    return { ready: obstacles.length === 0, reasons: [...obstacles, ...flaws] };
  }

  stop(): void {
    this.#probe?.stop();
  }
}
