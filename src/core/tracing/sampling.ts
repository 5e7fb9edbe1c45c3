import { sampledFlag } from "./trace-context.ts";
import type { TraceContext } from "./trace-context.ts";

/** Which spans are kept. */
export interface TraceSampling {
  /** Of all events so many are kept, by their id; 0 to 1. */
  readonly ratio: number;
  /** Events whose publisher records its trace are kept. */
  readonly keepsRecorded: boolean;
  /** The publisher's word is final where it said something: the ratio is for events without a trace alone. */
  readonly followsPublisher: boolean;
  /** Attempts that failed or were slow are kept also where nothing else keeps them. */
  readonly keepsTrouble: boolean;
}

export type KeptBecause = "sampled" | "ratio" | "failed" | "slow";

/** Every process decides alike, so that the spans of an event are kept together. */
export function keptByEvent(
  event: { readonly id: string; readonly trace: TraceContext | null },
  { ratio, keepsRecorded, followsPublisher }: TraceSampling,
): KeptBecause | null {
  const { trace } = event;
  if (keepsRecorded && trace !== null && (trace.flags & sampledFlag) !== 0) return "sampled";
  if (trace !== null && followsPublisher) return null;
  return ratio > 0 && shareOf(event.id) < ratio ? "ratio" : null;
}

const shareDigits = 8;
const shareEnd = 16 ** shareDigits;

/** 0 to 1, from the random end of a UUID. */
function shareOf(id: string): number {
  return Number.parseInt(id.slice(-shareDigits), 16) / shareEnd;
}

/** What the standard settings `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` ask for. */
export function samplingOf(settings: {
  readonly sampler: string | undefined;
  readonly argument: string | undefined;
}): TraceSampling | null {
  const { sampler = "", argument } = settings;
  const ratio = ratioOf(argument);
  if (ratio === null) return null;
  const followsPublisher = sampler.startsWith("parentbased_");
  switch (sampler.replace("parentbased_", "")) {
    case "":
    case "traceidratio":
      return { ratio, followsPublisher, keepsRecorded: true, keepsTrouble: true };
    case "always_on":
      return { ratio: 1, followsPublisher, keepsRecorded: true, keepsTrouble: true };
    case "always_off":
      return { ratio: 0, followsPublisher, keepsRecorded: followsPublisher, keepsTrouble: false };
    default:
      return null;
  }
}

/** One event in a thousand. */
const ratioDefault = 0.001;

function ratioOf(text: string | undefined): number | null {
  if (text === undefined || text.trim() === "") return ratioDefault;
  const ratio = Number(text);
  return ratio >= 0 && ratio <= 1 ? ratio : null;
}
