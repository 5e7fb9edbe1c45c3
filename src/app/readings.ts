import { systemClock } from "../adapters/system/clock.ts";
import type { Readiness } from "../api/server.ts";
import type { Settings } from "../config/options.ts";
import type { Engine } from "../engine/engine.ts";
import type { Store } from "../ports/store.ts";
import { StoreProbe } from "./store-probe.ts";

/** Why a process is not ready, dependency by dependency and role by role. */
export class Readings {
  readonly #engine: Pick<Engine, "activity">;
  readonly #delivers: boolean;
  readonly #probe: StoreProbe | null;
  isDraining = false;

  constructor(of: {
    readonly engine: Pick<Engine, "activity">;
    readonly store: Store;
    readonly settings: Pick<Settings, "roles" | "databaseUrl">;
  }) {
    this.#engine = of.engine;
    this.#delivers = of.settings.roles.includes("worker");
    // A file does not go away; that it cannot be written, commits tell.
    this.#probe = of.settings.databaseUrl === null ? null : new StoreProbe(of.store, systemClock);
    this.#probe?.start();
  }

  readiness(): Readiness {
    const { storeHealthy, holds } = this.#engine.activity();
    const isStoreThere = storeHealthy && (this.#probe?.healthy ?? true);
    const reasons = [
      ...(this.isDraining ? ["draining"] : []),
      ...(isStoreThere ? [] : ["store_unavailable"]),
      // Other workers may serve its webhooks by now, so it sends nothing until the store hears of it again.
      ...(this.#delivers && !holds ? ["worker_suspended"] : []),
    ];
    return { ready: reasons.length === 0, reasons };
  }

  stop(): void {
    this.#probe?.stop();
  }
}
