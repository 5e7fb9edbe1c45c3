import { atLeast, atMost, comparePairs, judged, measurePairs, median } from "../measure.ts";
import { eventTypeOf } from "../message.ts";
import { Child } from "../process/child.ts";
import { machineMs } from "../process/serve-calls.ts";
import { ProductProcess } from "../product/product.ts";
import { seedDue, webhooksFor, withPublisher } from "../product/seed.ts";
import { measureStretch, type Stretch } from "../product/stretch.ts";
import type { Context, Line, Row } from "../row.ts";
import { startServers, vacuum } from "../servers.ts";
import type { ClaimsPlace, FewAndMany, StoreCalls } from "../store/main.ts";

// ---- a product with a backlog ------------------------------------------------------------------------------------

const parkedWebhooks = 1_000;
const blockedWebhooks = 200;
const otherWebhooks = 100;
const idleWebhooks = parkedWebhooks + blockedWebhooks;
const parkedForMs = 3 * 3_600_000;
const rssMibGoal = 400;
const otherTypes = Array.from({ length: otherWebhooks }, (_, index) => eventTypeOf(idleWebhooks + index));

/**
 * Measures how 1,000,000 parked deliveries and 200,000 due deliveries behind open circuits affect other webhooks,
 * memory use and restart time.
 */
export const backlog: Row = {
  name: "backlog",
  async run(context) {
    // In a quick run, writing the rows would take longer than all other steps.
    const eventsPerWebhook = context.quick ? 50 : 1_000;
    const left = idleWebhooks * eventsPerWebhook;
    const { empty, loaded } = await seedStores(context, eventsPerWebhook);
    const pairs = await measurePairs(
      context,
      () => drainOthers(context, empty, 0),
      () => drainOthers(context, loaded, left),
    );
    context.folders.discard(empty);
    context.folders.discard(loaded);
    const deliveries = left.toLocaleString("en");
    context.note(`backlog: ${deliveries} deliveries, which share ${2 * eventsPerWebhook} events`);
    const rates = comparePairs(pairs, ({ stretch }) => stretch.perSecond);
    const restarts = comparePairs(pairs, ({ firstMs }) => firstMs);
    const mib = Math.max(...pairs.map(({ burdened }) => burdened.stretch.rssBytesMax)) / 1024 ** 2;
    const memory = {
      value: mib,
      unit: "MiB resident at most",
      baseline: rssMibGoal,
      ratio: mib / rssMibGoal,
    };
    return [
      atLeast({ name: "backlog", unit: "deliveries/s of the others", ...rates }, 0.9, "without"),
      judged({ name: "backlog: memory", ...memory }, `≤ ${rssMibGoal} MiB`, (share) => share <= 1),
      atMost({ name: "backlog: restart", unit: "ms to the first delivery", ...restarts }, 3, "empty"),
    ];
  },
};

/**
 * Seeds two stores with the same webhooks. Those with the backlog come first, which is the worst order for the others.
 */
async function seedStores(
  context: Context,
  events: number,
): Promise<{ readonly empty: string; readonly loaded: string }> {
  const all = webhooksFor(context.sink.origin, idleWebhooks + otherWebhooks);
  let ids: readonly string[] = [];
  const empty = await context.folders.filled("backlog-empty", "backlog", (dataDir) =>
    withPublisher({ dataDir }, async (product) => {
      ids = await product.call("createWebhooks", all);
    }),
  );
  const loaded = context.folders.copy(empty, "backlog-loaded");
  const startedAt = performance.now();
  await withPublisher({ dataDir: loaded }, async (product) => {
    const webhookIds = ids.slice(0, parkedWebhooks);
    await product.call("park", { webhookIds, events, dueInMs: parkedForMs, circuitsOpen: false });
    const blockedIds = ids.slice(parkedWebhooks, idleWebhooks);
    await product.call("park", { webhookIds: blockedIds, events, dueInMs: 0, circuitsOpen: true });
  });
  context.progress(`backlog written in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return { empty, loaded };
}

interface Start {
  readonly stretch: Stretch;
  /** Time from the start of the process to its first request at the sink. */
  readonly firstMs: number;
}

async function drainOthers(context: Context, dataDir: string, left: number): Promise<Start> {
  const counts = context.quick ? { warmUp: 1_500, count: 5_000 } : { warmUp: 3_000, count: 30_000 };
  await seedDue({ dataDir }, { events: counts.warmUp + counts.count, types: otherTypes });
  await context.sink.call("reset");
  const first = context.sink.call("when", 1);
  const startedAt = machineMs();
  const product = new ProductProcess();
  try {
    await product.open({ dataDir }, true);
    const stretch = await measureStretch(context, product, {
      ...counts,
      left,
      go: () => product.call("start"),
    });
    await product.close();
    return { stretch, firstMs: (await first) - startedAt };
  } finally {
    await product.kill();
  }
}

// ---- claims of two stores ----------------------------------------------------------------------------------------

const fewWaiting = 1_000;
const warmUpRounds = 3;

/** Measures claims from a PostgreSQL store with many waiting deliveries, compared with a store that has few. */
export const claims: Row = {
  name: "claims",
  async run(context) {
    const servers = await startServers(context.folders, false);
    try {
      const databases = ["few", "many"].map(
        (name) => Object.assign(new URL(servers.postgres.url), { pathname: name }).href,
      );
      for (const name of ["few", "many"]) await servers.postgres.query(`CREATE DATABASE ${name}`);
      const [few, many] = databases.map((at): ClaimsPlace => ({ kind: "postgres", at })) as [
        ClaimsPlace,
        ClaimsPlace,
      ];
      const tidy = () => Promise.all(databases.map(vacuum));
      return [await compareClaims(context, "claims", { few, many }, context.quick ? 11 : 61, tidy)];
    } finally {
      await servers.remove();
    }
  },
};

/** The same measurement as for PostgreSQL, with the embedded store. */
export const claimsEmbedded: Row = {
  name: "claims-embedded",
  async run(context) {
    const few = context.folders.fresh("claims");
    const many = context.folders.fresh("claims");
    const places = { few: { kind: "sqlite", at: few }, many: { kind: "sqlite", at: many } } as const;
    try {
      // A round takes a fiftieth of the time that PostgreSQL needs, so there are more rounds.
      const rounds = context.quick ? 61 : 201;
      return [await compareClaims(context, "claims-embedded", places, rounds, async () => undefined)];
    } finally {
      context.folders.discard(few);
      context.folders.discard(many);
    }
  },
};

async function compareClaims(
  context: Context,
  name: string,
  places: FewAndMany<ClaimsPlace>,
  rounds: number,
  /** Called after the stores were filled. */ tidy: () => Promise<unknown>,
): Promise<Line> {
  const manyWaiting = context.quick ? 200_000 : 1_000_000;
  const waiting = manyWaiting.toLocaleString("en");
  const fewText = fewWaiting.toLocaleString("en");
  const child = new Child<StoreCalls>(new URL("../store/main.ts", import.meta.url));
  try {
    await child.call("open", places);
    const startedAt = performance.now();
    await child.call("park", { few: fewWaiting, many: manyWaiting });
    await tidy();
    context.progress(`${name}: backlog written in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    await child.call("compare", { rounds: warmUpRounds });
    if (context.profile !== null) await child.startProfile();
    const rates = await child.call("compare", { rounds });
    if (context.profile !== null) await child.stopProfile(context.profile.file);
    await child.call("close");
    const [many, few] = [quartiles(rates.many), quartiles(rates.few)];
    context.note(`${name}: ${waiting} and ${fewText} waiting; quartiles ${many}/s and ${few}/s`);
    const value = median(rates.many);
    const baseline = median(rates.few);
    const line = { name, value, unit: `claims/s, ${waiting} waiting`, baseline, ratio: value / baseline };
    return atLeast(line, 0.8, `${fewText} waiting`);
  } finally {
    await child.kill();
  }
}

function quartiles(rates: readonly number[]): string {
  const sorted = rates.toSorted((a, b) => a - b);
  return [0.25, 0.75]
    .map((share) => Math.round(sorted[Math.floor(share * sorted.length)] ?? Number.NaN))
    .join("–");
}
