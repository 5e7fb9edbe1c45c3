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
const rssBytesGoal = 400 * 1024 ** 2;
const otherTypes = Array.from({ length: otherWebhooks }, (_, index) => eventTypeOf(idleWebhooks + index));

/** 1,000,000 parked deliveries and 200,000 due ones behind open circuits: what the others, memory and a restart notice. */
export const backlog: Row = {
  name: "backlog",
  async run(context) {
    // A twentieth in a quick run, where writing the rows would take longer than the rest.
    const eventsPerWebhook = context.quick ? 50 : 1_000;
    const left = idleWebhooks * eventsPerWebhook;
    const { empty, loaded } = await seedStores(context, eventsPerWebhook);
    const figures: Pair<Stretch>[] = [];
    const restarts: Pair<number>[] = [];
    for (let run = 0; run < context.runs; run += 1) {
      const rates = await measurePair(run, {
        without: () => drainOthers(context, { dataDir: empty, left: 0 }),
        burdened: () => drainOthers(context, { dataDir: loaded, left }),
      });
      figures.push(rates);
      const starts = await measurePair(run, {
        without: () => restartMs(context, empty),
        burdened: () => restartMs(context, loaded),
      });
      restarts.push(starts);
    }
    context.folders.discard(empty);
    context.folders.discard(loaded);
    context.note(
      `backlog: ${left.toLocaleString("en")} deliveries, which share ${2 * eventsPerWebhook} events`,
    );
    return lines(figures, restarts);
  },
};

function lines(figures: readonly Pair<Stretch>[], restarts: readonly Pair<number>[]): Line[] {
  const rssBytes = Math.max(...figures.map(({ burdened }) => burdened.productRssBytesMax));
  return [
    judged(
      {
        name: "backlog",
        value: median(figures.map(({ burdened }) => burdened.perSecond)),
        unit: "deliveries/s of the others",
        baseline: median(figures.map(({ without }) => without.perSecond)),
        ratio: median(figures.map(({ burdened, without }) => burdened.perSecond / without.perSecond)),
      },
      { text: "≥ 0.90 × without", met: (share) => share >= 0.9 },
    ),
    judged(
      {
        name: "backlog: memory",
        value: rssBytes / 1024 ** 2,
        unit: "MiB resident at most",
        baseline: rssBytesGoal / 1024 ** 2,
        ratio: rssBytes / rssBytesGoal,
      },
      { text: "≤ 400 MiB", met: (share) => share <= 1 },
    ),
    judged(
      {
        name: "backlog: restart",
        value: median(restarts.map(({ burdened }) => burdened)),
        unit: "ms to the first delivery",
        baseline: median(restarts.map(({ without }) => without)),
        ratio: median(restarts.map(({ burdened, without }) => burdened / without)),
      },
      { text: "≤ 3 × empty", met: (times) => times <= 3 },
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
  const empty = await context.folders.filled("backlog-empty", (dataDir) =>
    withPublisher(dataDir, async (product) => {
      ids = await product.createWebhooks(all);
    }),
  );
  const loaded = context.folders.copy({ from: empty, name: "backlog-loaded" });
  const startedAt = performance.now();
  await withPublisher(loaded, async (product) => {
    const events = eventsPerWebhook;
    const webhookIds = ids.slice(0, parkedWebhooks);
    await product.park({ webhookIds, events, dueInMs: parkedForMs, circuitsOpen: false });
    const blockedIds = ids.slice(parkedWebhooks, idleWebhooks);
    await product.park({ webhookIds: blockedIds, events, dueInMs: 0, circuitsOpen: true });
  });
  context.progress(`backlog written in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return { empty, loaded };
}

async function drainOthers(
  context: Context,
  store: { readonly dataDir: string; readonly left: number },
): Promise<Stretch> {
  const { dataDir, left } = store;
  const counts = context.quick ? { warmUp: 1_500, count: 5_000 } : { warmUp: 3_000, count: 30_000 };
  await seedDue(dataDir, { events: counts.warmUp + counts.count, types: otherTypes });
  const product = await new ProductProcess().open({ dataDir, delivers: true });
  try {
    const stretch = await measureStretch(context, product, { ...counts, left, go: () => product.start() });
    await product.close();
    return stretch;
  } finally {
    await product.kill();
  }
}

/** From the start of the process to the first request at the sink, with something due for each of the others. */
async function restartMs(context: Context, dataDir: string): Promise<number> {
  await seedDue(dataDir, { events: otherWebhooks, types: otherTypes });
  await context.sink.reset();
  const first = context.sink.when(1);
  const startedAt = machineMs();
  const product = new ProductProcess();
  try {
    await product.open({ dataDir, delivers: true });
    await product.start();
    const elapsedMs = (await first) - startedAt;
    await context.sink.when(otherWebhooks);
    await product.close();
    return elapsedMs;
  } finally {
    await product.kill();
  }
}
