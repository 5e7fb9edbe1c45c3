import { eventTypeOf } from "../message.ts";
import { delayP95 } from "../product/delays.ts";
import type { DelayP95 } from "../product/delays.ts";
import { ProductProcess } from "../product/product.ts";
import { seedWebhooks, webhooksFor } from "../product/seed.ts";
import { judged } from "../row.ts";
import type { Context, Row } from "../row.ts";
import { median, percentile } from "../statistics.ts";

const perSecond = 200;
const webhookCount = 100;
const warmUpMs = 1_000;
const warmUpMsQuick = 400;
const p95 = 0.95;

/** 200 events/s in an open loop: from accepted (the publish resolved) to received (the sink read the request). */
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
    return [
      judged(
        { name: "latency", value: accepted, unit: "ms p95", baseline: toSink, ratio: median(ratios) },
        "≤ 10 × raw",
        (times) => times <= 10,
      ),
    ];
  },
};

interface RawDelay {
  readonly toSinkMs: number;
  readonly roundTripMs: number;
}

/** A POST at the same rate, from the call to the sink: the same end as the product's, so that the ratio is strict. */
async function rawOnce(context: Context, durationMs: number): Promise<RawDelay> {
  await context.sink.reset();
  await context.sink.record();
  const { sent } = await context.raw.paced(perSecond, durationMs);
  const arrivals = await context.sink.arrivals();
  const toSink = sent.map(({ id, startedAt }) => (arrivals.get(id) ?? Number.NaN) - startedAt);
  const roundTrip = sent.map(({ startedAt, endedAt }) => endedAt - startedAt);
  return { toSinkMs: percentile(toSink, p95), roundTripMs: percentile(roundTrip, p95) };
}

async function productOnce(context: Context, durationMs: number): Promise<DelayP95> {
  const { sink } = context;
  const webhooks = webhooksFor(sink.origin, { count: webhookCount });
  const dataDir = await seedWebhooks(context, "latency", webhooks);
  const types = Array.from({ length: webhookCount }, (_, index) => eventTypeOf(index));
  const product = await new ProductProcess().open({ home: { dataDir }, delivers: true });
  try {
    await product.start();
    await product.paced({ perSecond, durationMs: context.quick ? warmUpMsQuick : warmUpMs, types });
    await product.committed();
    await sink.reset();
    await sink.record();
    if (context.profile !== null) await product.startProfile();
    const published = await product.paced({ perSecond, durationMs, types });
    await product.committed();
    if (context.profile !== null) await product.stopProfile(context.profile.file);
    const delays = delayP95(published, await sink.arrivals());
    await product.close();
    return delays;
  } finally {
    await product.kill();
    context.folders.discard(dataDir);
  }
}
