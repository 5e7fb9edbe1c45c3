import { placeOf, timeAt } from "../statistics/facts.ts";
import { sampledFlag, type TraceContext } from "./trace-context.ts";

/** Finds the attempts of one webhook that are slower than nearly all others. Older durations have less weight. */
export class SlowTimes {
  readonly #counts: number[] = [];
  #asked = 0;
  #all = 0;
  #sinceLook = 0;
  #slowerThanMs = Number.POSITIVE_INFINITY;

  /**
   * Whether this duration is slow compared with the earlier ones. Only every eighth duration is recorded, which is
   * sufficient and costs less.
   */
  isSlow(ms: number): boolean {
    const slow = ms > this.#slowerThanMs;
    this.#asked += 1;
    if ((this.#asked & 7) === 0) this.#count(ms);
    return slow;
  }

  #count(ms: number): void {
    const place = placeOf(ms);
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
    this.#all += 1;
    this.#sinceLook += 1;
    if (this.#sinceLook >= lookEvery) this.#look();
  }

  #look(): void {
    this.#sinceLook = 0;
    let below = 0;
    for (const [place, count = 0] of this.#counts.entries()) {
      below += count;
      if (below < this.#all * share) continue;
      // The upper end of the class, because all durations in the class belong to the faster attempts.
      this.#slowerThanMs = timeAt(place + 1);
      break;
    }
    if (this.#all < countsMax) return;
    for (const [place, count = 0] of this.#counts.entries()) this.#counts[place] = count / 2;
    this.#all /= 2;
  }
}

const share = 0.99;
const lookEvery = 100;
const countsMax = 2_000;

/** Determines which spans are kept. */
export interface TraceSampling {
  /** Events are kept if the last eight digits of their ID sort below this string; "" keeps none. */
  readonly endsBelow: string;
  /** Whether to keep events whose publisher records its trace. */
  readonly keepsRecorded: boolean;
  /** Whether the publisher's decision is final; the ratio then only applies to events without a trace. */
  readonly followsPublisher: boolean;
  /** Whether to keep attempts that failed or were slow even if no other rule keeps them. */
  readonly keepsTrouble: boolean;
}

export type KeptBecause = "sampled" | "ratio" | "failed" | "slow";

/**
 * Every process makes the same decision, so that the spans of an event are kept together. Called for every attempt: it
 * does not allocate memory, and nearly always examines only one digit of the ID.
 */
export function keptByEvent(
  id: string,
  trace: TraceContext | null,
  sampling: TraceSampling,
): KeptBecause | null {
  const { keepsRecorded, followsPublisher } = sampling;
  if (keepsRecorded && trace !== null && (trace.flags & sampledFlag) !== 0) return "sampled";
  if (trace !== null && followsPublisher) return null;
  return isBelow(id, sampling) ? "ratio" : null;
}

const shareDigits = 8;
const shareEnd = 16 ** shareDigits;

/** Whether the end of an ID sorts below the bound. The end of a UUID is random. */
function isBelow(id: string, { endsBelow: bound }: Pick<TraceSampling, "endsBelow">): boolean {
  const start = id.length - shareDigits;
  for (let at = 0; at < bound.length; at += 1) {
    const difference = id.charCodeAt(start + at) - bound.charCodeAt(at);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** The bound that keeps a given ratio of events, from 0 to 1. */
function boundOf(ratio: number): string {
  if (ratio === 0) return "";
  const bound = Math.round(ratio * shareEnd);
  // A character that sorts after all digits.
  return bound >= shareEnd ? "g" : bound.toString(16).padStart(shareDigits, "0");
}

/** The sampling that the standard settings `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` define. */
export function samplingOf(sampler: string | undefined, argument: string | undefined): TraceSampling | null {
  const ratio = ratioOf(argument);
  if (ratio === null) return null;
  const name = sampler ?? "";
  const followsPublisher = name.startsWith("parentbased_");
  switch (name.replace("parentbased_", "")) {
    case "":
    case "traceidratio":
      return { endsBelow: boundOf(ratio), followsPublisher, keepsRecorded: true, keepsTrouble: true };
    case "always_on":
      return { endsBelow: boundOf(1), followsPublisher, keepsRecorded: true, keepsTrouble: true };
    case "always_off":
      return {
        endsBelow: boundOf(0),
        followsPublisher,
        keepsRecorded: followsPublisher,
        keepsTrouble: false,
      };
    default:
      return null;
  }
}

/** One event in a thousand is kept. */
const ratioDefault = 0.001;

function ratioOf(text: string | undefined): number | null {
  if (text === undefined || text.trim() === "") return ratioDefault;
  const ratio = Number(text);
  return ratio >= 0 && ratio <= 1 ? ratio : null;
}
