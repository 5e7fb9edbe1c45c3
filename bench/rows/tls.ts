import { besideRaw } from "../beside-raw.ts";
import type { BesideRaw, Figure } from "../beside-raw.ts";
import { eventTypeOf } from "../message.ts";
import { ProductProcess } from "../product/product.ts";
import { seedDue, seedWebhooks, webhooksOverTls } from "../product/seed.ts";
import { measureStretch } from "../product/stretch.ts";
import { verifySettled } from "../product/waiting.ts";
import { judged } from "../row.ts";
import type { Context, Row } from "../row.ts";

/** Connections of the row `tls-warm`. */
export const warmOrigins = 100;

/** Due deliveries to 100 origins over TLS, on connections that are there. */
export const tlsWarm: Row = {
  name: "tls-warm",
  async run(context) {
    const counts = context.quick ? { warmUp: 1_000, count: 5_000 } : { warmUp: 5_000, count: 40_000 };
    const { value, baseline, ratio } = await drainBesideRaw(context, {
      name: "tls-warm",
      path: "/ok/warm",
      ...counts,
      webhooks: warmOrigins,
      rawRequests: counts.count / 2,
    });
    return [{ name: "tls-warm", value, unit: "deliveries/s", baseline, ratio, goal: null, pass: null }];
  },
};

/** Due deliveries to 2,000 origins over TLS, each of which is met once and closes the connection. */
export const tlsCold: Row = {
  name: "tls-cold",
  async run(context) {
    const counts = context.quick ? { warmUp: 100, count: 400 } : { warmUp: 500, count: 2_000 };
    const { value, baseline, ratio, mainCpuUs } = await drainBesideRaw(context, {
      name: "tls-cold",
      path: "/close/cold",
      ...counts,
      webhooks: counts.warmUp + counts.count,
      rawRequests: counts.count,
    });
    return [
      judged(
        { name: "tls-cold", value, unit: "deliveries/s", baseline, ratio },
        "≥ 0.90 × raw, main thread ≤ 60 µs",
        (share) => share >= 0.9 && (mainCpuUs ?? 0) <= 60,
      ),
    ];
  },
};

export interface DrainOverTls {
  readonly name: string;
  readonly path: string;
  readonly warmUp: number;
  readonly count: number;
  /** Each at an origin of its own. */
  readonly webhooks: number;
  /** What the product may use of the machine; all of it when absent. */
  readonly cores?: number;
}

function drainBesideRaw(
  context: Context,
  input: DrainOverTls & { readonly rawRequests: number },
): Promise<BesideRaw> {
  let samples = 0;
  const { name, path } = input;
  const raw = () => {
    samples += 1;
    // Names of its own each time, so that no session is there to be resumed.
    const origins = Array.from({ length: input.webhooks }, (_, n) =>
      context.sink.tlsOrigin(`r${samples}-${n}`),
    );
    return context.raw.overTls(origins, path, input.rawRequests);
  };
  return besideRaw(context, { name, raw, measure: () => drainOverTls(context, input) });
}

/** Once, in a process and a store of its own. */
export async function drainOverTls(context: Context, input: DrainOverTls): Promise<Figure> {
  const { sink, folders } = context;
  const total = input.warmUp + input.count;
  const webhooks = webhooksOverTls(sink, input.webhooks, input.path);
  const dataDir = await seedWebhooks(context, input.name, webhooks);
  const types = Array.from({ length: input.webhooks }, (_, index) => eventTypeOf(index));
  await seedDue({ dataDir }, { events: total, types });
  const product = new ProductProcess();
  try {
    if (input.cores !== undefined) product.keepToCores(input.cores);
    await product.open({ home: { dataDir }, delivers: true });
    const stretch = await measureStretch(context, product, { ...input, go: () => product.start() });
    const { all, resumed } = await sink.handshakes();
    context.progress(`${input.name}: ${all} handshakes for ${total} deliveries, ${resumed} of them resumed`);
    await product.close();
    await verifySettled({ dataDir }, total);
    return {
      perSecond: stretch.perSecond,
      cpuUs: stretch.productCpuUs,
      mainCpuUs: stretch.productMainCpuUs,
      sinkCpuShare: stretch.sinkCpuShare,
    };
  } finally {
    await product.kill();
    folders.discard(dataDir);
  }
}
