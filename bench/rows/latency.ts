import {
  atLeast,
  atMost,
  comparePairs,
  delayP95,
  type DelayP95,
  measurePairs,
  median,
  percentile,
} from "../measure.ts";
import { eventTypeOf } from "../message.ts";
import { ProductProcess } from "../product/product.ts";
import { seedWebhooks, webhooksFor } from "../product/seed.ts";
import { measureStretch } from "../product/stretch.ts";
import type { Context, Row } from "../row.ts";

const webhookCount = 100;
const types = Array.from({ length: webhookCount }, (_, index) => eventTypeOf(index));

// ---- without other load ------------------------------------------------------------------------------------------

const perSecond = 200;

/**
 * Publishes 200 events/s at fixed times. Measures from accepted (the publish resolved) to received (the sink read the
 * request).
 */
export const latency: Row = {
  name: "latency",
  async run(context) {
    const durationMs = context.quick ? 1_000 : 10_000;
    const raws = [await rawOnce(context, durationMs)];
    const products: DelayP95[] = [];
    const ratios: number[] = [];
    for (let run = 0; run < context.runs; run += 1) {
      const product = await productOnce(context, durationMs);
      const after = await rawOnce(context, durationMs);
      const before = raws.at(-1) as RawDelay;
      ratios.push((2 * product.fromAcceptedMs) / (before.toSinkMs + after.toSinkMs));
      raws.push(after);
      products.push(product);
    }
    const accepted = median(products.map(({ fromAcceptedMs }) => fromAcceptedMs));
    const published = median(products.map(({ fromPublishedMs }) => fromPublishedMs));
    const toSink = median(raws.map(({ toSinkMs }) => toSinkMs));
    const roundTrip = median(raws.map(({ roundTripMs }) => roundTripMs));
    context.note(
      `latency: p95 ${accepted.toFixed(2)} ms from accepted, ${published.toFixed(2)} ms from the call of publish; ` +
        `raw ${toSink.toFixed(2)} ms to the sink, ${roundTrip.toFixed(2)} ms there and back`,
    );
    const line = {
      name: "latency",
      value: accepted,
      unit: "ms p95",
      baseline: toSink,
      ratio: median(ratios),
    };
    return [atMost(line, 10, "raw")];
  },
};

interface RawDelay {
  readonly toSinkMs: number;
  readonly roundTripMs: number;
}

/**
 * Sends POST requests at the same rate. Measures the time from the call until the sink reads the request, where
 * Posthorn's measurement also ends.
 */
async function rawOnce(context: Context, durationMs: number): Promise<RawDelay> {
  await context.sink.call("reset");
  await context.sink.call("record");
  const { sent } = await context.raw.paced(perSecond, durationMs);
  const arrivals = await context.sink.arrivals();
  const toSink = sent.map(({ id, startedAt }) => (arrivals.get(id) ?? Number.NaN) - startedAt);
  const roundTrip = sent.map(({ startedAt, endedAt }) => endedAt - startedAt);
  return { toSinkMs: percentile(toSink, 0.95), roundTripMs: percentile(roundTrip, 0.95) };
}

async function productOnce(context: Context, durationMs: number): Promise<DelayP95> {
  const { sink, profile } = context;
  const dataDir = await seedWebhooks(context, "latency", webhooksFor(sink.origin, webhookCount));
  const product = await new ProductProcess().open({ dataDir }, true);
  try {
    await product.call("start");
    await product.call("paced", { perSecond, durationMs: context.quick ? 400 : 1_000, types });
    await product.committed();
    await sink.call("reset");
    await sink.call("record");
    if (profile !== null) await product.startProfile();
    const published = await product.call("paced", { perSecond, durationMs, types });
    await product.committed();
    if (profile !== null) await product.stopProfile(profile.file);
    const delays = delayP95(published, await sink.arrivals());
    await product.close();
    return delays;
  } finally {
    await product.kill();
    context.folders.discard(dataDir);
  }
}

// ---- with a webhook that hangs -----------------------------------------------------------------------------------

const others = webhookCount - 1;
const badType = eventTypeOf(others);

/** One of 100 webhooks never responds, and its backlog grows. Measures the effect on the other 99. */
export const isolation: Row = {
  name: "isolation",
  async run(context) {
    const pairs = await measurePairs(
      context,
      () => othersOnce(context, "answers"),
      () => othersOnce(context, "hangs"),
    );
    const backlog = median(pairs.map(({ burdened }) => burdened.waiting));
    context.note(`isolation: at the end ${backlog} deliveries of the webhook that hangs were waiting`);
    const rates = comparePairs(pairs, (figure) => figure.perSecond);
    const delays = comparePairs(pairs, (figure) => figure.delayMs);
    return [
      atLeast({ name: "isolation", unit: "events/s of the others", ...rates }, 0.9, "without"),
      atMost({ name: "isolation: p95", unit: "ms p95 of the others", ...delays }, 1.5, "without"),
    ];
  },
};

interface Others {
  readonly perSecond: number;
  /** 95th percentile of the time from accepted to received, at a steady rate. */
  readonly delayMs: number;
  readonly waiting: number;
}

async function othersOnce(context: Context, bad: "answers" | "hangs"): Promise<Others> {
  const { sink } = context;
  // The sink counts `slow` separately, so only the other webhooks count in both cases.
  const badUrl = bad === "hangs" ? `${sink.origin}/hang/x` : `${sink.origin}/slow/1/x`;
  const badWebhook = { url: badUrl, eventType: badType, schemes: ["v1"] as const };
  const webhooks = [...webhooksFor(sink.origin, others), badWebhook];
  const dataDir = await seedWebhooks(context, "isolation", webhooks);
  const product = await new ProductProcess().open({ dataDir }, true);
  try {
    await product.call("start");
    // One event in a hundred goes to the bad webhook.
    const rounds = context.quick ? { warmUp: 20, count: 60 } : { warmUp: 30, count: 400 };
    const flooded = rounds.warmUp + rounds.count;
    const stretch = await measureStretch(context, product, {
      warmUp: rounds.warmUp * others,
      count: rounds.count * others,
      left: bad === "hangs" ? flooded : 0,
      go: () =>
        product.call("flood", {
          events: flooded * webhookCount,
          types,
          batch: 100,
          deliveriesPerEvent: 1,
          outstandingMax: 2_000,
          uncountedType: badType,
        }),
    });
    await sink.call("reset");
    await sink.call("record");
    // Far below Posthorn's maximum rate, so that the measured delay is not caused by a queue.
    const paced = await product.call("paced", {
      perSecond: 500,
      durationMs: context.quick ? 1_000 : 6_000,
      types,
    });
    const measured = paced.filter(({ eventType }) => eventType !== badType);
    await sink.call("when", measured.length);
    const delays = delayP95(measured, await sink.arrivals());
    const waiting = bad === "hangs" ? flooded + paced.length - measured.length : 0;
    return { perSecond: stretch.perSecond, delayMs: delays.fromAcceptedMs, waiting };
  } finally {
    await product.kill();
    context.folders.discard(dataDir);
  }
}
