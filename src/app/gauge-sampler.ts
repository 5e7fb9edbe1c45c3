import { bucketAt, type StatisticsStep, statisticsSteps } from "../core/statistics/buckets.ts";
import { type GaugeReading, type GaugeSpan, joinedSpans, spanOf } from "../core/statistics/gauges.ts";
import { writerBytes, writerOf } from "../core/statistics/writer.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { StatisticsStore } from "../ports/store/statistics.ts";
import type { Logger } from "../ports/telemetry.ts";
import { Loop } from "../ports/timing/loop.ts";

export interface GaugeSamplerOptions {
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
 * Samples the gauges of this process a few times a minute. Writes three rows (for the minute, the hour and the day so
 * far) at the first sample and at the end of each minute. So no rollup is needed, and a failed write costs one
 * minute; the next write contains the hour and the day.
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
