import type { Usage } from "../process/serve-calls.ts";
import type { Context } from "../row.ts";
import type { ProductProcess } from "./product.ts";

/** What one measured stretch of deliveries cost. */
export interface Stretch {
  readonly perSecond: number;
  /** Warm-up included: from the moment the product was told to go. */
  readonly perSecondCold: number;
  readonly productCpuUs: number;
  /** Of that, the main thread's. */
  readonly productMainCpuUs: number;
  /** Share of one core. */
  readonly sinkCpuShare: number;
  readonly productRssBytesMax: number;
}

interface StretchInput {
  /** Deliveries before the clock starts: code is compiled, connections are open. */
  readonly warmUp: number;
  readonly count: number;
  /** Deliveries that are expected to wait for ever. */
  readonly left?: number;
  /** Makes the deliveries flow. */
  readonly go: () => Promise<unknown>;
}

/**
 * The clock starts when the request that ends the warm-up arrives at the sink, and stops when everything is settled and
 * committed. What is under way at the start counts as work of the stretch, so the figure is never too good.
 */
export async function measureStretch(
  context: Context,
  product: ProductProcess,
  input: StretchInput,
): Promise<Stretch> {
  const { sink } = context;
  await sink.reset();
  const total = input.warmUp + input.count;
  const warm = sink.when(input.warmUp);
  const received = sink.when(total);
  if (context.profile !== null) await product.startProfile();
  const coldAt = performance.now();
  const going = input.go();
  const startedAt = await finishing(warm, going);
  const before = await usages(context, product);
  await finishing(received, going);
  const endedAt = await product.committed(input.left);
  const coldMs = performance.now() - coldAt;
  const after = await usages(context, product);
  if (context.profile !== null) {
    await product.stopProfile(context.profile.file);
    context.profile.items = total;
  }
  await going;
  const elapsedMs = endedAt - startedAt;
  return {
    perSecond: (input.count * 1000) / elapsedMs,
    perSecondCold: (total * 1000) / coldMs,
    productMainCpuUs: ((after.product.mainCpuMs - before.product.mainCpuMs) * 1000) / input.count,
    productCpuUs: ((after.product.cpuMs - before.product.cpuMs) * 1000) / input.count,
    sinkCpuShare: (after.sink.cpuMs - before.sink.cpuMs) / elapsedMs,
    productRssBytesMax: after.product.rssBytesMax,
  };
}

async function usages(
  context: Context,
  product: ProductProcess,
): Promise<{ readonly product: Usage; readonly sink: Usage }> {
  const [ofProduct, ofSink] = await Promise.all([product.usage(), context.sink.usage()]);
  return { product: ofProduct, sink: ofSink };
}

/** Waits for the sink, unless what feeds it fails or the time is up. */
export async function finishing<Result>(wanted: Promise<Result>, feeding: Promise<unknown>): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("the deliveries did not end in time")), stretchMsMax);
  try {
    return await Promise.race([wanted, late, feeding.then(() => wanted)]);
  } finally {
    clearTimeout(timer);
  }
}

const stretchMsMax = 180_000;
