import type { SignatureSchemeName } from "../../src/domain/profile.ts";
import { startReceiver } from "../../test/peers/receiver.ts";
import {
  atLeast,
  comparePairs,
  compareWithRaw,
  type Figure,
  judged,
  lineOfRatio,
  measurePairs,
} from "../measure.ts";
import { eventTypeOf } from "../message.ts";
import { type FloodInput, type Home, ProductProcess, type WebhookSeed } from "../product/product.ts";
import { publishDue, seedDue, seedWebhooks, webhooksFor, withPublisher } from "../product/seed.ts";
import { measureStretch } from "../product/stretch.ts";
import { verifySettled } from "../product/witness.ts";
import type { Context, Line, Row } from "../row.ts";
import { startServers, vacuum } from "../servers.ts";
import { SenderProcess } from "../sender/sender.ts";

const webhookCount = 100;
const types = Array.from({ length: webhookCount }, (_, index) => eventTypeOf(index));

export interface Counts {
  /** Number of deliveries before the measurement starts. */
  readonly warmUp: number;
  readonly count: number;
}

export interface Drain extends Counts {
  readonly name: string;
  readonly webhooks: readonly WebhookSeed[];
  readonly home?: Pick<Home, "stats" | "tracesTo">;
  /** Maximum number of cores that Posthorn may use; all by default. */
  readonly cores?: number;
  /** Publishes while Posthorn delivers. If omitted, all deliveries are due before Posthorn starts. */
  readonly flood?: Omit<FloodInput, "events">;
}

/** Measures deliveries of one Posthorn process with its own store, until they are settled and committed. */
export async function drainOnce(context: Context, input: Drain): Promise<Figure> {
  const { sink, folders } = context;
  const { name, webhooks, warmUp, count, flood } = input;
  const total = warmUp + count;
  const dataDir = await seedWebhooks(context, name, webhooks);
  if (flood === undefined)
    await seedDue({ dataDir }, { events: total, types: webhooks.map(({ eventType }) => eventType) });
  const product = new ProductProcess();
  try {
    if (input.cores !== undefined) product.keepToCores(input.cores);
    await product.open({ dataDir, ...input.home }, true);
    if (flood !== undefined) await product.call("start");
    const go = (): Promise<void> =>
      flood === undefined
        ? product.call("start")
        : product.call("flood", { ...flood, events: total / flood.deliveriesPerEvent });
    const stretch = await measureStretch(context, product, { warmUp, count, go });
    const { all, resumed } = await sink.call("handshakes");
    if (all > 0)
      context.progress(`${name}: ${all} handshakes for ${total} deliveries, ${resumed} of them resumed`);
    await product.close();
    await verifySettled({ dataDir }, total);
    return stretch;
  } finally {
    await product.kill();
    folders.discard(dataDir);
  }
}

// ---- due deliveries ----------------------------------------------------------------------------------------------

const countsOf = ({ quick }: Context): Counts =>
  quick ? { warmUp: 2_000, count: 10_000 } : { warmUp: 5_000, count: 50_000 };

const drainOf = ({ sink }: Context, counts: Counts, schemes: readonly SignatureSchemeName[]): Drain => ({
  ...counts,
  name: "drain",
  webhooks: webhooksFor(sink.origin, webhookCount, schemes),
});

/** Delivers 50,000 due deliveries to 100 webhooks. */
export const drain: Row = {
  name: "drain",
  async run(context) {
    const measure = () => drainOnce(context, drainOf(context, countsOf(context), ["v1"]));
    const figure = await compareWithRaw(context, "drain", measure);
    const line = lineOfRatio("drain", "deliveries/s", figure, 0.6);
    return [line, ...compareWithBullmq(context, line)];
  },
};

/** Compares the ratios to `raw`, because the two rows ran at different times. */
function compareWithBullmq(context: Context, { value, ratio }: Line): Line[] {
  const bullmq = context.lines.find(({ name }) => name === "bullmq");
  if (bullmq === undefined || bullmq.ratio === null || ratio === null) return [];
  const line = { name: "drain: bullmq", value, unit: "deliveries/s", baseline: bullmq.value };
  return [judged({ ...line, ratio: ratio / bullmq.ratio }, "≥ 3 × bullmq", (times) => times >= 3)];
}

/** Uses the default signatures of a webhook, compared with a `raw` loop that creates both. */
export const drainDefaultSchemes: Row = {
  name: "drain-v1a-v1",
  async run(context) {
    const schemes = ["v1a", "v1"] as const;
    const counts = { warmUp: 1_500, count: context.quick ? 5_000 : 20_000 };
    const figure = await compareWithRaw(
      context,
      "drain-v1a-v1",
      () => drainOnce(context, drainOf(context, counts, schemes)),
      () => context.raw.sample({ by: "request", schemes }),
    );
    return [lineOfRatio("drain-v1a-v1", "deliveries/s", figure, null)];
  },
};

/** Compares runs with and without statistics. */
export const drainStatistics: Row = {
  name: "drain-stats",
  run: async (context) => [
    await withAndWithout(context, "drain-stats", 0.97, { stats: false }, { stats: true }),
  ],
};

/** Compares runs with and without traces of one event in a thousand, sent to a collector that accepts everything. */
export const drainTracing: Row = {
  name: "drain-tracing",
  async run(context) {
    const collector = await startReceiver({ record: false });
    collector.script(() => ({ body: "{}" }));
    try {
      return [await withAndWithout(context, "drain-tracing", 0.98, {}, { tracesTo: collector.origin })];
    } finally {
      await collector.close();
    }
  },
};

async function withAndWithout(
  context: Context,
  name: string,
  ratioMin: number,
  without: NonNullable<Drain["home"]>,
  burdened: NonNullable<Drain["home"]>,
): Promise<Line> {
  const drained = (home: NonNullable<Drain["home"]>) => () =>
    drainOnce(context, { ...drainOf(context, countsOf(context), ["v1"]), home });
  const pairs = await measurePairs(context, drained(without), drained(burdened));
  const cpu = 1 / comparePairs(pairs, ({ cpuUs }) => cpuUs).ratio;
  context.note(`${name}: processor time of a delivery without it is ${cpu.toFixed(3)} of that with it`);
  const rates = comparePairs(pairs, ({ perSecond }) => perSecond);
  return atLeast({ name, unit: "deliveries/s", ...rates }, ratioMin, "without");
}

// ---- publishing and delivering -----------------------------------------------------------------------------------

/** Publishes batches of events in the process. Each event is delivered to one of 100 webhooks. */
export const through: Row = {
  name: "through",
  async run(context) {
    const measure = () =>
      drainOnce(context, {
        name: "through",
        webhooks: webhooksFor(context.sink.origin, webhookCount),
        warmUp: 3_000,
        count: context.quick ? 10_000 : 50_000,
        flood: { types, batch: 100, deliveriesPerEvent: 1, outstandingMax: 2_000, uncountedType: null },
      });
    const figure = await compareWithRaw(context, "through", measure);
    return [lineOfRatio("through", "events/s", figure, 0.45)];
  },
};

/** Publishes one event to 1,000 webhooks, repeatedly. */
export const fanOut: Row = {
  name: "fan-out",
  async run(context) {
    const receivers = 1_000;
    const [eventType = ""] = types;
    const measure = () =>
      drainOnce(context, {
        name: "fan-out",
        webhooks: webhooksFor(context.sink.origin, receivers, ["v1"], eventType),
        warmUp: 3 * receivers,
        count: (context.quick ? 10 : 50) * receivers,
        flood: {
          types: [eventType],
          batch: 1,
          deliveriesPerEvent: receivers,
          // While one event is delivered, the next is published.
          outstandingMax: 2 * receivers,
          uncountedType: null,
        },
      });
    const figure = await compareWithRaw(context, "fan-out", measure);
    return [lineOfRatio("fan-out", "deliveries/s", figure, 0.5)];
  },
};

/**
 * Publishes single events over HTTP from another process with 64 connections. Each event is delivered to one webhook.
 */
export const httpOneToOne: Row = {
  name: "http-1to1",
  async run(context) {
    const counts = context.quick ? { warmUp: 1_500, count: 5_000 } : { warmUp: 3_000, count: 30_000 };
    const figure = await compareWithRaw(context, "http-1to1", () => httpOnce(context, counts));
    return [lineOfRatio("http-1to1", "events/s", figure, 0.25)];
  },
};

async function httpOnce(context: Context, counts: Counts): Promise<Figure> {
  const dataDir = await seedWebhooks(context, "http-1to1", webhooksFor(context.sink.origin, webhookCount));
  const product = new ProductProcess();
  const publisher = new SenderProcess();
  try {
    const served = await product.serve({ dataDir });
    const events = counts.warmUp + counts.count;
    const go = () => publisher.call("publish", { to: { ...served, types }, events });
    const stretch = await measureStretch(context, product, { ...counts, go });
    const { cpuMs } = await publisher.usage();
    const publisherUs = (cpuMs * 1000) / events;
    context.note(
      `http-1to1: the publisher uses another ${publisherUs.toFixed(1)} µs of processor time per event`,
    );
    return stretch;
  } finally {
    await publisher.kill();
    await product.kill();
    context.folders.discard(dataDir);
  }
}

// ---- on servers --------------------------------------------------------------------------------------------------

/** Uses PostgreSQL as the store and the queue, and one process that delivers. */
export const postgres = drainOnServers("postgres", 0.3, false);

/** Uses all the servers of a deployment on many machines, but on this single machine. */
export const distributed = drainOnServers("distributed", 0.12, true);

function drainOnServers(name: string, ratioMin: number, isDistributed: boolean): Row {
  return {
    name,
    async run(context) {
      const counts = context.quick ? { warmUp: 1_500, count: 5_000 } : { warmUp: 5_000, count: 50_000 };
      const measure = () => drainOnServer(context, counts, isDistributed);
      return [lineOfRatio(name, "deliveries/s", await compareWithRaw(context, name, measure), ratioMin)];
    },
  };
}

async function drainOnServer(context: Context, counts: Counts, isDistributed: boolean): Promise<Figure> {
  const servers = await startServers(context.folders, isDistributed);
  const { home, postgres: database } = servers;
  const total = counts.warmUp + counts.count;
  const product = new ProductProcess();
  try {
    await withPublisher(home, async (publisher) => {
      await publisher.call("createWebhooks", webhooksFor(context.sink.origin, webhookCount));
      await publishDue(publisher, { events: total, types });
    });
    await vacuum(database.url);
    await product.open(home, true);
    const stretch = await measureStretch(context, product, { ...counts, go: () => product.call("start") });
    await product.close();
    await verifySettled(home, total);
    // The store does not show whether a delivery that was settled once was sent twice.
    const { ok } = await context.sink.call("seen");
    if (ok !== total) throw new Error(`${total} deliveries were received ${ok} times`);
    await servers.verifyUsed();
    return stretch;
  } finally {
    await product.kill();
    await servers.remove();
    context.folders.discard(home.dataDir);
  }
}
