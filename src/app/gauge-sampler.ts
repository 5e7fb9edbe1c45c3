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
 * Reads what this process knows of itself a few times a minute, and writes it at the first reading and whenever a minute is
 * over: three rows, of the minute, its hour and its day so far. So nobody has to add them up, and a row that a
 * store that was away did not take costs one minute; the hour and the day have it with the next one.
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
        options.log.warn({ err: String(error) }, "readings for statistics were not written");
      },
    });
  }

  start(): void {
    this.#loop.soon(0);
  }

  /** A store that does not answer holds up no shutdown, so nobody waits for a row that is being written. */
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
        ...{ step, start, writer: this.#writer },
        document: JSON.stringify(span),
      });
  }
}

const sampleMs = 15_000;
