import { eventTypeOf } from "../message.ts";
import { delayP95 } from "../product/delays.ts";
import { measurePair } from "../pair.ts";
import type { Pair } from "../pair.ts";
import { ProductProcess } from "../product/product.ts";
import { seedWebhooks, webhooksFor } from "../product/seed.ts";
import { measureStretch } from "../product/stretch.ts";
import { judged } from "../row.ts";
import type { Context, Row } from "../row.ts";
import { median } from "../statistics.ts";

const webhookCount = 100;
const badWebhook = webhookCount - 1;
const badType = eventTypeOf(badWebhook);
const types = Array.from({ length: webhookCount }, (_, index) => eventTypeOf(index));
/** Far below what the product can do: the delay is then its own and not that of a queue. */
const pacedPerSecond = 500;

/** One of 100 webhooks never answers and its backlog grows: what the other 99 notice. */
export const isolation: Row = {
  name: "isolation",
  async run(context) {
    const pairs: Pair<Others>[] = [];
    for (let run = 0; run < context.runs; run += 1) {
      const pair = measurePair(run, {
        without: () => othersOnce(context, "answers"),
        burdened: () => othersOnce(context, "hangs"),
      });
      pairs.push(await pair);
    }
    const backlog = median(pairs.map(({ burdened }) => burdened.waiting));
    context.note(`isolation: at the end ${backlog} deliveries of the webhook that hangs were waiting`);
    const compare = (figure: "perSecond" | "delayMs") => ({
      value: median(pairs.map(({ burdened }) => burdened[figure])),
      baseline: median(pairs.map(({ without }) => without[figure])),
      ratio: median(pairs.map(({ burdened, without }) => burdened[figure] / without[figure])),
    });
    return [
      judged(
        { name: "isolation", unit: "events/s of the others", ...compare("perSecond") },
        "≥ 0.90 × without",
        (share) => share >= 0.9,
      ),
      judged(
        { name: "isolation: p95", unit: "ms p95 of the others", ...compare("delayMs") },
        "≤ 1.5 × without",
        (times) => times <= 1.5,
      ),
    ];
  },
};

interface Others {
  readonly perSecond: number;
  /** 95th percentile from accepted to received, at a steady rate. */
  readonly delayMs: number;
  readonly waiting: number;
}

async function othersOnce(context: Context, bad: "answers" | "hangs"): Promise<Others> {
  const { sink } = context;
  // `slow` answers as well, but the sink counts it apart, so that only the others count in both cases.
  const badUrl = bad === "hangs" ? `${sink.origin}/hang/x` : `${sink.origin}/slow/1/x`;
  const webhooks = [
    ...webhooksFor(sink.origin, { count: badWebhook }),
    { url: badUrl, eventType: badType, schemes: ["v1"] as const },
  ];
  const dataDir = await seedWebhooks(context, "isolation", webhooks);
  const product = await new ProductProcess().open({ home: { dataDir }, delivers: true });
  try {
    await product.start();
    // One event of a hundred is for the bad webhook.
    const rounds = context.quick ? { warmUp: 20, count: 60 } : { warmUp: 30, count: 400 };
    const events = (rounds.warmUp + rounds.count) * webhookCount;
    const stretch = await measureStretch(context, product, {
      warmUp: rounds.warmUp * badWebhook,
      count: rounds.count * badWebhook,
      left: bad === "hangs" ? rounds.warmUp + rounds.count : 0,
      go: () =>
        product.flood({
          events,
          types,
          batch: 100,
          deliveriesPerEvent: 1,
          outstandingMax: 2_000,
          uncountedType: badType,
        }),
    });
    await sink.reset();
    await sink.record();
    const paced = await product.paced({
      perSecond: pacedPerSecond,
      durationMs: context.quick ? 1_000 : 6_000,
      types,
    });
    const others = paced.filter(({ eventType }) => eventType !== badType);
    await sink.when(others.length);
    const delays = delayP95(others, await sink.arrivals());
    const waiting = bad === "hangs" ? events / webhookCount + paced.length - others.length : 0;
    return { perSecond: stretch.perSecond, delayMs: delays.fromAcceptedMs, waiting };
  } finally {
    await product.kill();
    context.folders.discard(dataDir);
  }
}
