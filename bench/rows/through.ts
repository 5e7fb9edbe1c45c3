import { besideRaw } from "../beside-raw.ts";
import type { Figure } from "../beside-raw.ts";
import { eventTypeOf } from "../message.ts";
import { ProductProcess } from "../product/product.ts";
import type { FloodInput } from "../product/product.ts";
import { seedWebhooks, webhooksFor } from "../product/seed.ts";
import { measureStretch } from "../product/stretch.ts";
import { verifySettled } from "../product/waiting.ts";
import { judged } from "../row.ts";
import type { Context, Row } from "../row.ts";

/** Events published in process in batches, each delivered to one of 100 webhooks, until settled and committed. */
export const through: Row = {
  name: "through",
  async run(context) {
    const webhookCount = 100;
    const webhooks = webhooksFor(context.sink.origin, { count: webhookCount });
    const types = Array.from({ length: webhookCount }, (_, index) => eventTypeOf(index));
    const figure = await besideRaw(context, {
      name: "through",
      measure: () =>
        floodOnce(context, {
          name: "through",
          webhooks,
          warmUp: 3_000,
          count: context.quick ? 10_000 : 50_000,
          flood: { types, batch: 100, deliveriesPerEvent: 1, outstandingMax: 2_000, uncountedType: null },
        }),
    });
    const { value, baseline, ratio } = figure;
    return [
      judged(
        { name: "through", value, unit: "events/s", baseline, ratio },
        "≥ 0.45 × raw",
        (share) => share >= 0.45,
      ),
    ];
  },
};

/** One event to 1,000 webhooks, published and delivered, over and over. */
export const fanOut: Row = {
  name: "fan-out",
  async run(context) {
    const webhookCount = 1_000;
    const eventType = eventTypeOf(0);
    const webhooks = webhooksFor(context.sink.origin, { count: webhookCount, eventType });
    const figure = await besideRaw(context, {
      name: "fan-out",
      measure: () =>
        floodOnce(context, {
          name: "fan-out",
          webhooks,
          warmUp: 3 * webhookCount,
          count: (context.quick ? 10 : 50) * webhookCount,
          flood: {
            types: [eventType],
            batch: 1,
            deliveriesPerEvent: webhookCount,
            // Two events on their way: while one is delivered, the next is published.
            outstandingMax: 2 * webhookCount,
            uncountedType: null,
          },
        }),
    });
    const { value, baseline, ratio } = figure;
    return [
      judged(
        { name: "fan-out", value, unit: "deliveries/s", baseline, ratio },
        "≥ 0.50 × raw",
        (share) => share >= 0.5,
      ),
    ];
  },
};

interface FloodOnce {
  readonly name: string;
  readonly webhooks: ReturnType<typeof webhooksFor>;
  /** Deliveries. */
  readonly warmUp: number;
  readonly count: number;
  readonly flood: Omit<FloodInput, "events">;
}

async function floodOnce(context: Context, input: FloodOnce): Promise<Figure> {
  const { warmUp, count, flood } = input;
  const dataDir = await seedWebhooks(context, input.name, input.webhooks);
  const product = await new ProductProcess().open({ home: { dataDir }, delivers: true });
  try {
    await product.start();
    const events = (warmUp + count) / flood.deliveriesPerEvent;
    const stretch = await measureStretch(context, product, {
      warmUp,
      count,
      go: () => product.flood({ ...flood, events }),
    });
    await product.close();
    await verifySettled({ dataDir }, warmUp + count);
    return { perSecond: stretch.perSecond, cpuUs: stretch.productCpuUs, sinkCpuShare: stretch.sinkCpuShare };
  } finally {
    await product.kill();
    context.folders.discard(dataDir);
  }
}
