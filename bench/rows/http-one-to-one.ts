import { besideRaw } from "../beside-raw.ts";
import type { Figure } from "../beside-raw.ts";
import { eventTypeOf } from "../message.ts";
import { ProductProcess } from "../product/product.ts";
import { seedWebhooks, webhooksFor } from "../product/seed.ts";
import { measureStretch } from "../product/stretch.ts";
import { PublisherProcess } from "../publisher/publisher.ts";
import { judged } from "../row.ts";
import type { Context, Row } from "../row.ts";

const webhookCount = 100;

/** Single events, published over HTTP by another process on 64 connections, each delivered to one webhook. */
export const httpOneToOne: Row = {
  name: "http-1to1",
  async run(context) {
    const counts = context.quick ? { warmUp: 1_500, count: 5_000 } : { warmUp: 3_000, count: 30_000 };
    const figure = await besideRaw(context, {
      name: "http-1to1",
      measure: () => httpOnce(context, counts.warmUp, counts.count),
    });
    const { value, baseline, ratio } = figure;
    return [
      judged(
        { name: "http-1to1", value, unit: "events/s", baseline, ratio },
        "≥ 0.25 × raw",
        (share) => share >= 0.25,
      ),
    ];
  },
};

async function httpOnce(context: Context, warmUp: number, count: number): Promise<Figure> {
  const webhooks = webhooksFor(context.sink.origin, { count: webhookCount });
  const types = Array.from({ length: webhookCount }, (_, index) => eventTypeOf(index));
  const dataDir = await seedWebhooks(context, "http-1to1", webhooks);
  const product = new ProductProcess();
  const publisher = new PublisherProcess();
  try {
    const { url, adminKey } = await product.serve({ dataDir });
    const stretch = await measureStretch(context, product, {
      warmUp,
      count,
      go: () => publisher.publish({ url, adminKey, types, events: warmUp + count }),
    });
    const { cpuMs } = await publisher.usage();
    const publisherUs = (cpuMs * 1000) / (warmUp + count);
    context.note(
      `http-1to1: the publisher takes ${publisherUs.toFixed(1)} µs of processor time an event beside it`,
    );
    return { perSecond: stretch.perSecond, cpuUs: stretch.productCpuUs, sinkCpuShare: stretch.sinkCpuShare };
  } finally {
    await publisher.kill();
    await product.kill();
    context.folders.discard(dataDir);
  }
}
