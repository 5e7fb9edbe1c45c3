import type { Figure } from "../measure.ts";
import type { Usage } from "../process/serve-calls.ts";
import type { Context } from "../row.ts";
import type { ProductProcess } from "./product.ts";

const stretchMsMax = 180_000;

/** What one measured stretch of deliveries cost. */
export interface Stretch extends Figure {
  readonly rssBytesMax: number;
}

interface StretchInput {
  /** Deliveries before the clock starts: code is compiled, connections are open. */
  readonly warmUp: number;
  readonly count: number;
  /** Deliveries that stay waiting. */
  readonly left?: number;
  /** Starts the deliveries. */
  readonly go: () => Promise<unknown>;
}

type MeasuredProcess = Pick<ProductProcess, "usage" | "committed" | "startProfile" | "stopProfile">;

/**
 * The clock starts when the request that ends the warm-up arrives at the sink, and stops when everything is settled and
 * committed. Requests in flight at the start count as work of the stretch, so the figure is never too good.
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

/** Waits for the sink, unless the publisher fails or the time is up. */
async function finishing<Result>(wanted: Promise<Result>, feeding: Promise<unknown>): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("the deliveries did not end in time")), stretchMsMax);
  try {
    return await Promise.race([wanted, late, feeding.then(() => wanted)]);
  } finally {
    clearTimeout(timer);
  }
}
