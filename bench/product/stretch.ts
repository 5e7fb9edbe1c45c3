import type { Figure } from "../measure.ts";
import type { Usage } from "../process/serve-calls.ts";
import type { Context } from "../row.ts";
import type { ProductProcess } from "./product.ts";

const stretchMsMax = 180_000;

/** The cost of one measured interval of deliveries. */
export interface Stretch extends Figure {
  readonly rssBytesMax: number;
}

interface StretchInput {
  /**
   * Number of deliveries before the measurement starts. During the warm-up, code is compiled and connections are
   * opened.
   */
  readonly warmUp: number;
  readonly count: number;
  /** Number of deliveries that are still waiting when the measurement stops. */
  readonly left?: number;
  /** Starts the deliveries. */
  readonly go: () => Promise<unknown>;
}

type MeasuredProcess = Pick<ProductProcess, "usage" | "committed" | "startProfile" | "stopProfile">;

/**
 * The measurement starts when the last warm-up request arrives at the sink, and stops when everything is settled and
 * committed. Requests in flight at the start count as part of the interval, so the result is never too high.
 */
export async function measureStretch(
  context: Context,
  measured: MeasuredProcess,
  { warmUp, count, left = 0, go }: StretchInput,
): Promise<Stretch> {
  const { sink, profile } = context;
  const usages = (): Promise<[Usage, Usage]> => Promise.all([measured.usage(), sink.usage()]);
  await sink.call("reset");
  const warm = sink.call("when", warmUp);
  const received = sink.call("when", warmUp + count);
  if (profile !== null) await measured.startProfile();
  const going = go();
  const startedAt = await finishing(warm, going);
  const [before, sinkBefore] = await usages();
  await finishing(received, going);
  const elapsedMs = (await measured.committed(left)) - startedAt;
  const [after, sinkAfter] = await usages();
  if (profile !== null) {
    await measured.stopProfile(profile.file);
    profile.items = warmUp + count;
  }
  await going;
  return {
    perSecond: (count * 1000) / elapsedMs,
    cpuUs: ((after.cpuMs - before.cpuMs) * 1000) / count,
    mainCpuUs: ((after.mainCpuMs - before.mainCpuMs) * 1000) / count,
    sinkCpuShare: (sinkAfter.cpuMs - sinkBefore.cpuMs) / elapsedMs,
    rssBytesMax: after.rssBytesMax,
  };
}

/** Waits for a result of the sink. Rejects if the publisher fails or the time limit is reached. */
async function finishing<Result>(wanted: Promise<Result>, feeding: Promise<unknown>): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("the deliveries did not end in time")), stretchMsMax);
  try {
    return await Promise.race([wanted, late, feeding.then(() => wanted)]);
  } finally {
    clearTimeout(timer);
  }
}
