import { monitorEventLoopDelay } from "node:perf_hooks";
import type { GaugeReading } from "../core/statistics/gauges.ts";
import type { Engine } from "../engine/engine.ts";
import type { DiskSpace, Store } from "../ports/store.ts";

export interface ProcessGaugesOptions {
  readonly engine: Pick<Engine, "activity" | "webhooks" | "oldestDue">;
  readonly store: Pick<Store, "deliveries" | "disk">;
  /** Only workers have request slots. */
  readonly delivers: boolean;
}

/** Gauges of the process and of its store, where both have the numbers readily available. */
export class ProcessGauges {
  readonly #options: ProcessGaugesOptions;
  readonly #lag = monitorEventLoopDelay({ resolution: lagResolutionMs });

  constructor(options: ProcessGaugesOptions) {
    this.#options = options;
    this.#lag.enable();
  }

  async read(): Promise<GaugeReading> {
    const { engine, store, delivers } = this.#options;
    const { waiting, deadLetters } = await store.deliveries.depth();
    const { inFlight, active, concurrency, waitingInUse, waitingRequests, commitMs, upkeepLagMs } =
      engine.activity();
    return {
      waiting_high: waiting.high,
      waiting_normal: waiting.normal,
      waiting_low: waiting.low,
      dead_letters: Iterator.from(deadLetters.values()).reduce((sum, count) => sum + count, 0),
      in_flight: inFlight,
      active_requests: active,
      places: delivers ? concurrency : 0,
      waiting_requests: waitingInUse,
      waiting_places: delivers ? waitingRequests : 0,
      open_circuits: Iterator.from(engine.webhooks()).reduce(
        (count, { circuit }) => count + (circuit.phase === "closed" ? 0 : 1),
        0,
      ),
      loop_lag_ms: this.#longestLagMs(),
      commit_ms: commitMs,
      oldest_due_ms: await engine.oldestDue.ageMs(),
      upkeep_lag_ms: upkeepLagMs,
      disk_used: usedShare(store.disk?.() ?? null),
    };
  }

  stop(): void {
    this.#lag.disable();
  }

  /** Maximum timer delay since the last reading, beyond the timer's resolution. */
  #longestLagMs(): number {
    const lateMs = this.#lag.max / nanosecondsPerMs - lagResolutionMs;
    this.#lag.reset();
    return Math.max(0, Math.round(lateMs));
  }
}

function usedShare(disk: DiskSpace | null): number | null {
  return disk === null ? null : 1 - disk.freeBytes / disk.sizeBytes;
}

/** As coarse as the resolution of the metrics: an idle process should not wake up often to measure its lag. */
const lagResolutionMs = 50;
const nanosecondsPerMs = 1e6;
