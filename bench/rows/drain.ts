import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { SignatureSchemeName } from "../../src/domain/profile.ts";
import { besideRaw, type Figure } from "../beside-raw.ts";
import { eventTypeOf } from "../message.ts";
import { measurePair, type Pair } from "../pair.ts";
import type { Home } from "../product/home.ts";
import { ProductProcess } from "../product/product.ts";
import { seedDue, seedWebhooks, webhooksFor } from "../product/seed.ts";
import { measureStretch } from "../product/stretch.ts";
import { verifySettled } from "../product/waiting.ts";
import { type Context, judged, type Line, type Row } from "../row.ts";
import { median } from "../statistics.ts";

const webhookCount = 100;

/** 50,000 due deliveries over 100 webhooks, until settled and committed. */
export const drain: Row = {
  name: "drain",
  async run(context) {
    const counts = context.quick ? { warmUp: 2_000, count: 10_000 } : { warmUp: 5_000, count: 50_000 };
    const figure = await besideRaw(context, {
      name: "drain",
      measure: () => drainOnce(context, { ...counts, schemes: ["v1"] }),
    });
    const line = judged(
      {
        name: "drain",
        value: figure.value,
        unit: "deliveries/s",
        baseline: figure.baseline,
        ratio: figure.ratio,
      },
      "≥ 0.60 × raw",
      (ratio) => ratio >= 0.6,
    );
    return [line, ...besideBullmq(context, line)];
  },
};

/** The same with the signatures that a webhook gets by default, beside a raw that signs both ways too. */
export const drainDefaultSchemes: Row = {
  name: "drain-v1a-v1",
  async run(context) {
    const schemes: readonly SignatureSchemeName[] = ["v1a", "v1"];
    const figure = await besideRaw(context, {
      name: "drain-v1a-v1",
      kind: { by: "request", schemes },
      measure: () => drainOnce(context, { warmUp: 1_500, count: context.quick ? 5_000 : 20_000, schemes }),
    });
    const { value, baseline, ratio } = figure;
    return [{ name: "drain-v1a-v1", value, unit: "deliveries/s", baseline, ratio, goal: null, pass: null }];
  },
};

/** The same without and with statistics, in turn, so that what else the machine does meets both. */
export const drainStatistics: Row = {
  name: "drain-stats",
  run: (context) =>
    besideWithout(context, {
      name: "drain-stats",
      burden: "statistics",
      least: 0.97,
      without: { stats: false },
      burdened: { stats: true },
    }),
};

/** The same without and with traces of one event in a thousand, sent to a collector that takes everything. */
export const drainTracing: Row = {
  name: "drain-tracing",
  async run(context) {
    const collector = createServer((request, response) => {
      request.resume().on("end", () => response.end("{}"));
    }).listen(0, "127.0.0.1");
    await once(collector, "listening");
    const tracesTo = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
    try {
      return await besideWithout(context, {
        name: "drain-tracing",
        burden: "tracing",
        least: 0.98,
        without: {},
        burdened: { tracesTo },
      });
    } finally {
      collector.close();
    }
  },
};

async function besideWithout(
  context: Context,
  {
    name,
    burden,
    least,
    ...homes
  }: {
    readonly name: string;
    readonly burden: string;
    readonly least: number;
    readonly without: DrainHome;
    readonly burdened: DrainHome;
  },
): Promise<readonly Line[]> {
  const counts = context.quick ? { warmUp: 2_000, count: 10_000 } : { warmUp: 5_000, count: 50_000 };
  const drained = (home: DrainHome) => () => drainOnce(context, { ...counts, schemes: ["v1"], home });
  const pairs: Pair<Figure>[] = [];
  for (let run = 0; run < context.runs; run += 1) {
    pairs.push(
      await measurePair(run, { without: drained(homes.without), burdened: drained(homes.burdened) }),
    );
    context.progress(`${name} ${run + 1} of ${context.runs}`);
  }
  const cpu = median(pairs.map(({ without, burdened }) => without.cpuUs / burdened.cpuUs));
  context.note(`${name}: processor time of a delivery without ${burden} is ${cpu.toFixed(3)} of that with`);
  const line = {
    name,
    value: median(pairs.map(({ burdened }) => burdened.perSecond)),
    unit: "deliveries/s",
    baseline: median(pairs.map(({ without }) => without.perSecond)),
    ratio: median(pairs.map(({ without, burdened }) => burdened.perSecond / without.perSecond)),
  };
  return [judged(line, `≥ ${least} × without`, (ratio) => ratio >= least)];
}

/** Both were measured beside raw at different times, so it is their ratios to raw that are compared. */
function besideBullmq(context: Context, line: Line): Line[] {
  const bullmq = context.lines.find(({ name }) => name === "bullmq");
  if (bullmq === undefined || bullmq.ratio === null || line.ratio === null) return [];
  const ratio = line.ratio / bullmq.ratio;
  return [
    judged(
      { name: "drain: bullmq", value: line.value, unit: "deliveries/s", baseline: bullmq.value, ratio },
      "≥ 3 × bullmq",
      (times) => times >= 3,
    ),
  ];
}

interface DrainInput {
  readonly warmUp: number;
  readonly count: number;
  readonly schemes: readonly SignatureSchemeName[];
  readonly home?: DrainHome;
}

type DrainHome = Pick<Home, "stats" | "tracesTo">;

async function drainOnce(context: Context, input: DrainInput): Promise<Figure> {
  const { sink, folders } = context;
  const total = input.warmUp + input.count;
  const webhooks = webhooksFor(sink.origin, { count: webhookCount, schemes: input.schemes });
  const dataDir = await seedWebhooks(context, "drain", webhooks);
  const types = Array.from({ length: webhookCount }, (_, index) => eventTypeOf(index));
  await seedDue({ dataDir }, { events: total, types });
  const product = await new ProductProcess().open({
    home: { dataDir, ...input.home },
    delivers: true,
  });
  try {
    const stretch = await measureStretch(context, product, { ...input, go: () => product.start() });
    await product.close();
    await verifySettled({ dataDir }, total);
    return { perSecond: stretch.perSecond, cpuUs: stretch.productCpuUs, sinkCpuShare: stretch.sinkCpuShare };
  } finally {
    await product.kill();
    folders.discard(dataDir);
  }
}
