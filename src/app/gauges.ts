import { monitorEventLoopDelay } from "node:perf_hooks";
import {
  type GaugeReading,
  type GaugeSpan,
  joinedSpans,
  spanOf,
  writerBytes,
  writerOf,
} from "../domain/statistics/gauges.ts";
import { bucketAt, type StatisticsStep, statisticsSteps } from "../domain/statistics/facts.ts";
import type { Engine } from "../engine/engine.ts";
import { type Clock, Loop } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { DiskSpace, Store } from "../ports/store.ts";
import type { StatisticsStore } from "../ports/store/statistics.ts";
import type { Logger } from "../ports/telemetry.ts";

interface GaugeSamplerOptions {
  readonly store: Pick<StatisticsStore, "writeGauges">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly read: () => Promise<GaugeReading>;
}

interface OpenBucket {
  readonly start: number;
  readonly span: GaugeSpan;
}

/**
 * Samples the gauges of this process a few times per minute. Writes three rows (for the minute, the hour and the day so
 * far) at the first sample and at the end of each minute. Therefore no rollup is needed, and a failed write loses only
 * one minute, because the next write contains the hour and the day.
 */
export class GaugeSampler {
  readonly #options: GaugeSamplerOptions;
  readonly #loop: Loop;
  readonly #writer: number;
  readonly #open = new Map<StatisticsStep, OpenBucket>();

  constructor(options: GaugeSamplerOptions) {
    this.#options = options;
    this.#writer = writerOf(options.random.bytes(writerBytes));
    this.#loop = new Loop({
      clock: options.clock,
      round: () => this.#sample(),
      pauseMs: () => sampleMs,
      failed: (error) => {
        if (this.#loop.isStopped) return;
        options.log.warn({ err: String(error) }, "writing gauge readings failed");
      },
    });
  }

  start(): void {
    this.#loop.soon(0);
  }

  /** Does not wait for a pending write, because an unresponsive store must not delay the shutdown. */
  stop(): void {
    void this.#loop.stop();
  }

  async #sample(): Promise<void> {
    const reading = await this.#options.read();
    const now = this.#options.clock.now();
    const minute = this.#open.get("minute");
    const isNewMinute = minute?.start !== bucketAt(now, "minute");
    try {
      if (minute !== undefined && isNewMinute) await this.#write();
    } finally {
      for (const step of statisticsSteps) this.#add(step, spanOf(reading, now));
    }
    if (minute === undefined) await this.#write();
  }

  #add(step: StatisticsStep, span: GaugeSpan): void {
    const start = bucketAt(span.from, step);
    const open = this.#open.get(step);
    const whole = open?.start === start ? joinedSpans(open.span, span) : span;
    this.#open.set(step, { start, span: whole });
  }

  async #write(): Promise<void> {
    for (const [step, { start, span }] of this.#open)
      await this.#options.store.writeGauges({
        step,
        start,
        writer: this.#writer,
        document: JSON.stringify(span),
      });
  }
}

const sampleMs = 15_000;

interface ProcessGaugesOptions {
  readonly engine: Pick<Engine, "activity" | "webhooks" | "oldestDue">;
  readonly store: Pick<Store, "deliveries" | "disk">;
  /** Whether this process delivers. Only workers have request slots. */
  readonly delivers: boolean;
}

/** Gauges of the process and of its store. Only values that are available without a query are included. */
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
      request_slots: delivers ? concurrency : 0,
      waiting_requests: waitingInUse,
      waiting_request_slots: delivers ? waitingRequests : 0,
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

/** Matches the resolution of the metrics, because an idle process should not wake up often to measure its lag. */
const lagResolutionMs = 50;
const nanosecondsPerMs = 1e6;
