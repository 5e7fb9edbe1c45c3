import { atLeast, atMost, comparePairs, measurePairs, percentile } from "../measure.ts";
import { ProductProcess } from "../product/product.ts";
import { seedWebhooks, webhooksFor } from "../product/seed.ts";
import type { Context, Row } from "../row.ts";
import { createSources, SenderProcess } from "../sender/sender.ts";
import type { Counts } from "./drain.ts";

const sourceCount = 100;

const countsOf = ({ quick }: Context): Counts =>
  quick ? { warmUp: 500, count: 1_500 } : { warmUp: 3_000, count: 20_000 };

/**
 * Measures messages that are received over HTTP, verified, committed and acknowledged, compared with events that are
 * published over HTTP.
 */
export const gatewayStore: Row = {
  name: "gateway-store",
  async run(context) {
    const received = () => receivedOnce(context, "store_and_forward");
    const rates = await measurePairs(context, () => publishedOnce(context), received);
    const line = { name: "gateway-store", unit: "messages/s", ...comparePairs(rates, Number) };
    return [atLeast(line, 0.9, "http publishing")];
  },
};

/**
 * Measures messages that are received, verified, passed through and answered, compared with a reverse proxy that
 * performs the same verification.
 */
export const gatewayPass: Row = {
  name: "gateway-pass",
  async run(context) {
    const received = () => receivedOnce(context, "pass_through");
    const rates = await measurePairs(context, () => proxiedOnce(context), received);
    const line = { name: "gateway-pass", unit: "messages/s", ...comparePairs(rates, Number) };
    return [atLeast(line, 0.6, "a bare proxy")];
  },
};

/**
 * The destination of one source never responds. Measures the effect on the senders of other sources, which also use
 * pass-through.
 */
export const gatewayIsolation: Row = {
  name: "gateway-isolation",
  async run(context) {
    const delays = await measurePairs(
      context,
      () => otherSenders(context, "alone"),
      () => otherSenders(context, "next to one that hangs"),
    );
    const line = {
      name: "gateway-isolation",
      unit: "ms p95 of other sources",
      ...comparePairs(delays, Number),
    };
    return [atMost(line, 1.5, "without")];
  },
};

const destinations = ({ sink }: Context): readonly string[] =>
  Array.from({ length: sourceCount }, (_, index) => `${sink.origin}/ok/${index}`);

/** Returns the messages per second, measured until every message had a response. */
async function receivedOnce(context: Context, mode: "pass_through" | "store_and_forward"): Promise<number> {
  const { warmUp, count } = countsOf(context);
  const { profile } = context;
  const product = new ProductProcess();
  const sender = new SenderProcess();
  const dataDir = await seedWebhooks(context, "gateway", []);
  try {
    const served = await product.serve({ dataDir });
    const paths = await createSources(served, destinations(context), mode);
    const to = { origin: served.url, paths };
    await sender.call("send", { to: { ...to, first: 0 }, messages: warmUp });
    if (profile !== null) await product.startProfile();
    const tookMs = await sender.call("send", { to: { ...to, first: warmUp }, messages: count });
    if (profile !== null) {
      await product.stopProfile(profile.file);
      profile.items = count;
    }
    return (count * 1_000) / tookMs;
  } finally {
    await sender.kill();
    await product.kill();
    context.folders.discard(dataDir);
  }
}

async function publishedOnce(context: Context): Promise<number> {
  const { warmUp, count } = countsOf(context);
  const webhooks = webhooksFor(context.sink.origin, sourceCount);
  const dataDir = await seedWebhooks(context, "gateway-published", webhooks);
  const product = new ProductProcess();
  const publisher = new SenderProcess();
  try {
    const to = { ...(await product.serve({ dataDir })), types: webhooks.map(({ eventType }) => eventType) };
    await publisher.call("publish", { to, events: warmUp });
    const startedAt = performance.now();
    await publisher.call("publish", { to, events: count });
    return (count * 1_000) / (performance.now() - startedAt);
  } finally {
    await publisher.kill();
    await product.kill();
    context.folders.discard(dataDir);
  }
}

async function proxiedOnce(context: Context): Promise<number> {
  const { warmUp, count } = countsOf(context);
  const [proxy, sender] = [new SenderProcess(), new SenderProcess()];
  try {
    const origin = await proxy.call("proxy", { origin: context.sink.origin });
    const paths = destinations(context).map((url) => new URL(url).pathname);
    await sender.call("send", { to: { origin, paths, first: 0 }, messages: warmUp });
    const tookMs = await sender.call("send", { to: { origin, paths, first: warmUp }, messages: count });
    return (count * 1_000) / tookMs;
  } finally {
    await sender.kill();
    await proxy.kill();
  }
}

/** 95th percentile of the response times of the other senders, in milliseconds. */
async function otherSenders(context: Context, how: "alone" | "next to one that hangs"): Promise<number> {
  const product = new ProductProcess();
  const [sender, stuck] = [new SenderProcess(), new SenderProcess()];
  const dataDir = await seedWebhooks(context, "gateway", []);
  try {
    const served = await product.serve({ dataDir });
    // Uses twenty webhooks, because each one gets at most five requests at the same time.
    const urls = [`${context.sink.origin}/hang/x`, ...destinations(context).slice(0, 20)];
    const [bad = "", ...paths] = await createSources(served, urls, "pass_through");
    const to = { origin: served.url, paths };
    await sender.call("sendPaced", { to: { ...to, first: 0 }, perSecond: 200, durationMs: 1_000 });
    if (how !== "alone") await stuck.call("flood", { origin: served.url, paths: [bad], first: 0 });
    const durationMs = context.quick ? 3_000 : 10_000;
    const pace = { perSecond: 200, durationMs };
    const took = await sender.call("sendPaced", { to: { ...to, first: 100_000 }, ...pace });
    return percentile(took, 0.95);
  } finally {
    await Promise.all([sender.kill(), stuck.kill()]);
    await product.kill();
    context.folders.discard(dataDir);
  }
}
