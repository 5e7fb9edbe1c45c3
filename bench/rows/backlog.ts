import { eventTypeOf } from "../message.ts";
import { machineMs } from "../process/serve-calls.ts";
import { measurePair } from "../pair.ts";
import type { Pair } from "../pair.ts";
import { ProductProcess } from "../product/product.ts";
import type { WebhookSeed } from "../product/product.ts";
import { seedDue, webhooksFor, withPublisher } from "../product/seed.ts";
import { measureStretch } from "../product/stretch.ts";
import type { Stretch } from "../product/stretch.ts";
import { judged } from "../row.ts";
import type { Context, Line, Row } from "../row.ts";
import { median } from "../statistics.ts";

const parkedWebhooks = 1_000;
const blockedWebhooks = 200;
const otherWebhooks = 100;
const idleWebhooks = parkedWebhooks + blockedWebhooks;
const parkedForMs = 3 * 3_600_000;
const rssMibGoal = 400;
const otherTypes = Array.from({ length: otherWebhooks }, (_, index) => eventTypeOf(idleWebhooks + index));

/** 1,000,000 parked deliveries and 200,000 due ones behind open circuits: what the others, memory and a restart notice. */
export const backlog: Row = {
  name: "backlog",
  async run(context) {
    // A twentieth in a quick run, where writing the rows would take longer than the rest.
    const eventsPerWebhook = context.quick ? 50 : 1_000;
    const left = idleWebhooks * eventsPerWebhook;
    const { empty, loaded } = await seedStores(context, eventsPerWebhook);
    const pairs: Pair<Start>[] = [];
    for (let run = 0; run < context.runs; run += 1) {
      const pair = measurePair(run, {
        without: () => drainOthers(context, empty, 0),
        burdened: () => drainOthers(context, loaded, left),
      });
      pairs.push(await pair);
    }
    context.folders.discard(empty);
    context.folders.discard(loaded);
    context.note(
      `backlog: ${left.toLocaleString("en")} deliveries, which share ${2 * eventsPerWebhook} events`,
    );
    return lines(pairs);
  },
};

function lines(pairs: readonly Pair<Start>[]): Line[] {
  const compare = (figureOf: (start: Start) => number) => ({
    value: median(pairs.map(({ burdened }) => figureOf(burdened))),
    baseline: median(pairs.map(({ without }) => figureOf(without))),
    ratio: median(pairs.map(({ burdened, without }) => figureOf(burdened) / figureOf(without))),
  });
  const rssMib = Math.max(...pairs.map(({ burdened }) => burdened.stretch.productRssBytesMax)) / 1024 ** 2;
  return [
    judged(
      { name: "backlog", unit: "deliveries/s of the others", ...compare(({ stretch }) => stretch.perSecond) },
      "≥ 0.90 × without",
      (share) => share >= 0.9,
    ),
    judged(
      {
        name: "backlog: memory",
        value: rssMib,
        unit: "MiB resident at most",
        baseline: rssMibGoal,
        ratio: rssMib / rssMibGoal,
      },
      "≤ 400 MiB",
      (share) => share <= 1,
    ),
    judged(
      { name: "backlog: restart", unit: "ms to the first delivery", ...compare(({ firstMs }) => firstMs) },
      "≤ 3 × empty",
      (times) => times <= 3,
    ),
  ];
}

interface Stores {
  readonly empty: string;
  readonly loaded: string;
}

/** The same webhooks in both; those with the backlog come first, which is the worst order for the others. */
async function seedStores(context: Context, eventsPerWebhook: number): Promise<Stores> {
  const all: WebhookSeed[] = webhooksFor(context.sink.origin, { count: idleWebhooks + otherWebhooks });
  let ids: readonly string[] = [];
  const empty = await context.folders.filled("backlog-empty", "backlog", (dataDir) =>
    withPublisher({ dataDir }, async (product) => {
      ids = await product.createWebhooks(all);
    }),
  );
  const loaded = context.folders.copy(empty, "backlog-loaded");
  const startedAt = performance.now();
  await withPublisher({ dataDir: loaded }, async (product) => {
    const events = eventsPerWebhook;
    const webhookIds = ids.slice(0, parkedWebhooks);
    await product.park({ webhookIds, events, dueInMs: parkedForMs, circuitsOpen: false });
    const blockedIds = ids.slice(parkedWebhooks, idleWebhooks);
    await product.park({ webhookIds: blockedIds, events, dueInMs: 0, circuitsOpen: true });
  });
  context.progress(`backlog written in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return { empty, loaded };
}

interface Start {
  readonly stretch: Stretch;
  /** From the start of the process to its first request at the sink. */
  readonly firstMs: number;
}

async function drainOthers(context: Context, dataDir: string, left: number): Promise<Start> {
  const counts = context.quick ? { warmUp: 1_500, count: 5_000 } : { warmUp: 3_000, count: 30_000 };
  await seedDue({ dataDir }, { events: counts.warmUp + counts.count, types: otherTypes });
  await context.sink.reset();
  const first = context.sink.when(1);
  const startedAt = machineMs();
  const product = new ProductProcess();
  try {
    await product.open({ home: { dataDir }, delivers: true });
    const stretch = await measureStretch(context, product, { ...counts, left, go: () => product.start() });
    await product.close();
    return { stretch, firstMs: (await first) - startedAt };
  } finally {
    await product.kill();
  }
}
