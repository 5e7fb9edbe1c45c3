import { eventTypeOf } from "../message.ts";
import { ProductProcess } from "../product/product.ts";
import { seedWebhooks, webhooksFor } from "../product/seed.ts";
import { judged } from "../row.ts";
import type { Context, Row } from "../row.ts";
import { median, percentile } from "../statistics.ts";

const perSecond = 200;
const webhookCount = 100;

/** 200 events/s in an open loop: from accepted (the publish resolved) to received (the sink read the request). */
export const latency: Row = {
  name: "latency",
  async run(context) {
    const durationMs = context.quick ? 3_000 : 10_000;
    const raws: number[] = [(await rawOnce(context, durationMs)).p95Ms];
    const products: number[] = [];
    const ratios: number[] = [];
    for (let run = 0; run < context.runs; run += 1) {
      // oxlint-disable-next-line no-await-in-loop
      const { p95Ms, fromPublishP95Ms } = await productOnce(context, durationMs);
      // oxlint-disable-next-line no-await-in-loop
      const after = await rawOnce(context, durationMs);
      const ratio = (2 * p95Ms) / ((raws.at(-1) as number) + after.p95Ms);
      raws.push(after.p95Ms);
      products.push(p95Ms);
      ratios.push(ratio);
      context.note(
        `latency: p95 ${p95Ms.toFixed(2)} ms from accepted, ${fromPublishP95Ms.toFixed(2)} ms from the call of publish; ` +
          `raw ${after.p95Ms.toFixed(2)} ms to the sink, ${after.roundTripP95Ms.toFixed(2)} ms there and back`,
      );
    }
    return [
      judged(
        { name: "latency", value: median(products), unit: "ms p95", baseline: median(raws), ratio: median(ratios) },
        { text: "≤ 10 × raw", met: (times) => times <= 10 },
      ),
    ];
  },
};

/** A POST at the same rate, from the call to the sink: the same end as the product's, so that the ratio is strict. */
async function rawOnce(
  context: Context,
  durationMs: number,
): Promise<{ readonly p95Ms: number; readonly roundTripP95Ms: number }> {
  await context.sink.reset();
  await context.sink.record();
  const { sent } = await context.raw.paced({ perSecond, durationMs });
  const arrivals = await context.sink.arrivals();
  return {
    p95Ms: percentile(
      sent.map(({ id, startedAt }) => (arrivals.get(id) ?? Number.NaN) - startedAt),
      0.95,
    ),
    roundTripP95Ms: percentile(
      sent.map(({ startedAt, endedAt }) => endedAt - startedAt),
      0.95,
    ),
  };
}

async function productOnce(
  context: Context,
  durationMs: number,
): Promise<{ readonly p95Ms: number; readonly fromPublishP95Ms: number }> {
  const { sink } = context;
  const webhooks = webhooksFor(sink.origin, { count: webhookCount });
  const dataDir = await seedWebhooks(context, { name: "latency", webhooks });
  const types = Array.from({ length: webhookCount }, (_, index) => eventTypeOf(index));
  const product = await new ProductProcess().open({ dataDir, delivers: true });
  try {
    await product.start();
    await sink.reset();
    await product.paced({ perSecond, durationMs: warmUpMs, types });
    await product.committed();
    await sink.reset();
    await sink.record();
    if (context.profileFile !== null) await product.startProfile();
    const published = await product.paced({ perSecond, durationMs, types });
    await product.committed();
    if (context.profileFile !== null) await product.stopProfile(context.profileFile);
    const arrivals = await sink.arrivals();
    await product.close();
    const delays = published.map((event) => ({
      accepted: (arrivals.get(event.id) ?? Number.NaN) - event.acceptedAt,
      published: (arrivals.get(event.id) ?? Number.NaN) - event.publishedAt,
    }));
    return {
      p95Ms: percentile(
        delays.map(({ accepted }) => accepted),
        0.95,
      ),
      fromPublishP95Ms: percentile(
        delays.map(({ published: sincePublish }) => sincePublish),
        0.95,
      ),
    };
  } finally {
    await product.kill();
    context.folders.discard(dataDir);
  }
}

const warmUpMs = 1_500;
