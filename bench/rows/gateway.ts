import { makeSources, SenderProcess } from "../gateway/gateway.ts";
import { eventTypeOf } from "../message.ts";
import { measurePair } from "../pair.ts";
import type { Pair } from "../pair.ts";
import { ProductProcess } from "../product/product.ts";
import { seedWebhooks, webhooksFor } from "../product/seed.ts";
import { PublisherProcess } from "../publisher/publisher.ts";
import { judged } from "../row.ts";
import type { Context, Line, Row } from "../row.ts";
import { median, percentile } from "../statistics.ts";

const sourceCount = 100;
const types = Array.from({ length: sourceCount }, (_, index) => eventTypeOf(index));

interface Counts {
  readonly warmUp: number;
  readonly count: number;
}

const countsOf = ({ quick }: Context): Counts =>
  quick ? { warmUp: 500, count: 1_500 } : { warmUp: 3_000, count: 20_000 };

/** Received over HTTP, verified, committed and answered, beside events that are published over HTTP. */
export const gatewayStore: Row = {
  name: "gateway-store",
  async run(context) {
    const counts = countsOf(context);
    const pairs = await pairsOf(context, {
      without: () => publishedOnce(context, counts),
      burdened: () => receivedOnce(context, counts, "store_and_forward"),
    });
    return [rateLine(pairs, "gateway-store", 0.9, "http publishing")];
  },
};

/** Received, verified, passed through and answered, beside a reverse proxy that verifies the same. */
export const gatewayPass: Row = {
  name: "gateway-pass",
  async run(context) {
    const counts = countsOf(context);
    const pairs = await pairsOf(context, {
      without: () => proxiedOnce(context, counts),
      burdened: () => receivedOnce(context, counts, "pass_through"),
    });
    return [rateLine(pairs, "gateway-pass", 0.6, "a bare proxy")];
  },
};

/** One source's destination never answers: what the sender of another one notices, both passed through. */
export const gatewayIsolation: Row = {
  name: "gateway-isolation",
  async run(context) {
    const pairs = await pairsOf(context, {
      without: () => otherSender(context, "alone"),
      burdened: () => otherSender(context, "beside one that hangs"),
    });
    const line = { name: "gateway-isolation", unit: "ms p95 of other sources", ...compared(pairs) };
    return [judged(line, "≤ 1.5 × without", (times) => times <= 1.5)];
  },
};

async function pairsOf(
  context: Context,
  measure: Parameters<typeof measurePair<number>>[1],
): Promise<readonly Pair<number>[]> {
  const pairs: Pair<number>[] = [];
  for (let run = 0; run < context.runs; run += 1) {
    const pair = await measurePair(run, measure);
    context.progress(`${pair.burdened.toFixed(2)} beside ${pair.without.toFixed(2)}`);
    pairs.push(pair);
  }
  return pairs;
}

function compared(
  pairs: readonly Pair<number>[],
): Pick<Line, "value" | "baseline"> & { readonly ratio: number } {
  return {
    value: median(pairs.map(({ burdened }) => burdened)),
    baseline: median(pairs.map(({ without }) => without)),
    ratio: median(pairs.map(({ burdened, without }) => burdened / without)),
  };
}

function rateLine(pairs: readonly Pair<number>[], name: string, goal: number, beside: string): Line {
  return judged(
    { name, unit: "messages/s", ...compared(pairs) },
    `≥ ${goal.toFixed(2)} × ${beside}`,
    (share) => share >= goal,
  );
}

const destinations = ({ sink }: Context): readonly string[] =>
  Array.from({ length: sourceCount }, (_, index) => `${sink.origin}/ok/${index}`);

/** Messages a second until they were answered. */
async function receivedOnce(
  context: Context,
  counts: Counts,
  mode: "pass_through" | "store_and_forward",
): Promise<number> {
  const product = new ProductProcess();
  const sender = new SenderProcess();
  const dataDir = await seedWebhooks(context, "gateway", []);
  try {
    const served = await product.serve({ dataDir });
    const paths = await makeSources(served, destinations(context), mode);
    const sending = { origin: served.url, paths };
    await sender.send({ ...sending, first: 0, messages: counts.warmUp });
    const { profile } = context;
    if (profile !== null) await product.startProfile();
    const tookMs = await sender.send({ ...sending, first: counts.warmUp, messages: counts.count });
    if (profile !== null) {
      await product.stopProfile(profile.file);
      profile.items = counts.count;
    }
    return (counts.count * 1_000) / tookMs;
  } finally {
    await sender.kill();
    await product.kill();
    context.folders.discard(dataDir);
  }
}

async function publishedOnce(context: Context, counts: Counts): Promise<number> {
  const webhooks = webhooksFor(context.sink.origin, { count: sourceCount });
  const dataDir = await seedWebhooks(context, "gateway-published", webhooks);
  const product = new ProductProcess();
  const publisher = new PublisherProcess();
  try {
    const { url, adminKey } = await product.serve({ dataDir });
    await publisher.publish({ url, adminKey, types, events: counts.warmUp });
    const startedAt = performance.now();
    await publisher.publish({ url, adminKey, types, events: counts.count });
    return (counts.count * 1_000) / (performance.now() - startedAt);
  } finally {
    await publisher.kill();
    await product.kill();
    context.folders.discard(dataDir);
  }
}

async function proxiedOnce(context: Context, counts: Counts): Promise<number> {
  const [proxy, sender] = [new SenderProcess(), new SenderProcess()];
  try {
    const origin = await proxy.proxy(context.sink.origin);
    const paths = destinations(context).map((url) => new URL(url).pathname);
    await sender.send({ origin, paths, first: 0, messages: counts.warmUp });
    const tookMs = await sender.send({ origin, paths, first: counts.warmUp, messages: counts.count });
    return (counts.count * 1_000) / tookMs;
  } finally {
    await sender.kill();
    await proxy.kill();
  }
}

const pacedPerSecond = 200;
const quietSources = 20;

/** 95th percentile of its answers, in milliseconds. */
async function otherSender(context: Context, how: "alone" | "beside one that hangs"): Promise<number> {
  const product = new ProductProcess();
  const [sender, stuck] = [new SenderProcess(), new SenderProcess()];
  const dataDir = await seedWebhooks(context, "gateway", []);
  try {
    const served = await product.serve({ dataDir });
    // Several, because no webhook gets more than five requests at once.
    const urls = [`${context.sink.origin}/hang/x`, ...destinations(context).slice(0, quietSources)];
    const [bad = "", ...paths] = await makeSources(served, urls, "pass_through");
    const sending = { origin: served.url, paths };
    await sender.paced({ ...sending, first: 0, perSecond: pacedPerSecond, durationMs: 1_000 });
    if (how !== "alone") await stuck.flood({ origin: served.url, paths: [bad], first: 0 });
    const durationMs = context.quick ? 3_000 : 10_000;
    const took = await sender.paced({ ...sending, first: 100_000, perSecond: pacedPerSecond, durationMs });
    return percentile(took, 0.95);
  } finally {
    await Promise.all([sender.kill(), stuck.kill()]);
    await product.kill();
    context.folders.discard(dataDir);
  }
}
