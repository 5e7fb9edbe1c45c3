import { setTimeout as sleep } from "node:timers/promises";
import { type PacedEvent, type PlannedEvent, ProductProcess, type WebhookSeed } from "../product/product.ts";
import { publishDue, withPublisher } from "../product/seed.ts";
import { hangingModes } from "./hanging.ts";
import type { Context, Line, Row } from "../row.ts";
import { atMost, median, percentile } from "../measure.ts";

/** The kinds of endpoints of the small tenants, with five tenants each. */
const kinds = ["quick", "slow", "new", "restarted"] as const;
type Kind = (typeof kinds)[number];
const tenantsPerKind = 5;
/** Number of new or restarted endpoints of each tenant. Each endpoint gets one event. */
const freshEach = 20;
const quickMs = 20;
const slowMs = 1_200;
const largeCount = 300;
const backlogWebhooks = 100;
const hangTimeoutMs = 5_000;

/** The load that the large tenant causes. */
const burdens = ["hanging", "turning", "backlog"] as const;
type Burden = (typeof burdens)[number];

/**
 * Runs twenty small tenants alongside a large one. Measures how long their events take until the receiver has
 * responded, compared with a run without the large tenant. Quick receivers take 20 ms, as if they were reached over a
 * network.
 */
export const tenants: Row = {
  name: "tenants",
  async run(context) {
    const folders = await seedFolders(context);
    const alone: Delays[] = [];
    const burdened = new Map<Burden, Delays[]>(burdens.map((burden) => [burden, []]));
    for (let run = 0; run < Math.min(context.runs, runsMax); run += 1) {
      alone.push(await measure(context, null, folders.plain));
      for (const burden of burdens) {
        const folder = burden === "backlog" ? folders.backlog : folders.plain;
        burdened.get(burden)?.push(await measure(context, burden, folder));
      }
    }
    const lines = burdens.map((burden) => lineOf(context, burden, alone, burdened.get(burden) ?? []));
    return [...lines, ...(await hangingModes(context))];
  },
};

/**
 * By kind: 95th percentile of the time from the call to publish until the receiver responded, and from accepted until
 * received.
 */
type Delays = Readonly<Record<Kind, { readonly deliveredMs: number; readonly waitedMs: number }>>;

/** The result line of the kind that is affected most. */
function lineOf(
  context: Context,
  burden: Burden,
  alone: readonly Delays[],
  burdened: readonly Delays[],
): Line {
  const of = (delays: readonly Delays[], kind: Kind, figure: "deliveredMs" | "waitedMs"): number =>
    median(delays.map((each) => each[kind][figure]));
  const compared = kinds.map((kind) => {
    const value = of(burdened, kind, "deliveredMs");
    const baseline = of(alone, kind, "deliveredMs");
    const waited = `${of(burdened, kind, "waitedMs").toFixed(1)} ms, alone ${of(alone, kind, "waitedMs").toFixed(1)}`;
    return { value, baseline, ratio: value / baseline, text: `${kind} ${waited}` };
  });
  context.note(
    `tenants: ${burden}: p95 from accepted to received: ${compared.map(({ text }) => text).join("; ")}`,
  );
  const worst = compared.toSorted((left, right) => right.ratio - left.ratio)[0];
  if (worst === undefined) throw new Error("there are kinds");
  const { value, baseline, ratio } = worst;
  const line = { name: `tenants: ${burden}`, unit: "ms p95 of the small ones", value, baseline, ratio };
  return atMost(line, 1.5, "alone");
}

async function measure(context: Context, burden: Burden | null, folder: string): Promise<Delays> {
  const { sink } = context;
  const durationMs = context.quick ? 3_000 : 10_000;
  const dataDir = context.folders.copy(folder, "tenants");
  const product = await new ProductProcess().open({ dataDir }, true);
  try {
    await sink.call("reset");
    await product.call("start");
    await product.call("planned", warmUp);
    await sleep(slowMs);
    const load = burden === null ? Promise.resolve() : await begin(context, burden, product, durationMs);
    await sink.call("record");
    const small = await product.call("planned", smallEvents(durationMs));
    const arrivals = await arrivalsOf(context, small);
    await load;
    context.progress(`tenants: ${burden ?? "alone"}: ${JSON.stringify(await sink.call("seen"))}`);
    return delaysOf(small, arrivals);
  } finally {
    await product.kill();
    context.folders.discard(dataDir);
  }
}

/** Starts the load of the large tenant. The small tenants start when this resolves, and run until the load ends. */
async function begin(
  context: Context,
  burden: Burden,
  product: ProductProcess,
  durationMs: number,
): Promise<Promise<unknown>> {
  // The work of the large tenant was already in the store and began when the process started.
  if (burden === "backlog") return Promise.resolve();
  const leadMs = burden === "hanging" ? 1_500 : 2_000;
  const total = burden === "hanging" ? largeCount * 10 : ((durationMs + leadMs) / 1000) * 600;
  const stepMs = burden === "hanging" ? 0.5 : 1000 / 600;
  const events = Array.from({ length: total }, (_, index) => ({
    atMs: index * stepMs,
    tenantId: burden,
    eventType: `${burden}.${index % largeCount}`,
  }));
  const going = product.call("planned", events);
  await sleep(leadMs);
  if (burden === "turning") await context.sink.call("turn");
  return going;
}

async function arrivalsOf(
  context: Context,
  events: readonly PacedEvent[],
): Promise<ReadonlyMap<string, number>> {
  const endsAt = performance.now() + arrivalMsMax;
  for (;;) {
    const arrivals = await context.sink.arrivals();
    const missing = events.filter(({ id }) => !arrivals.has(id)).length;
    if (missing === 0) return arrivals;
    if (performance.now() > endsAt) throw new Error(`${missing} events of small tenants did not arrive`);
    await sleep(100);
  }
}

function delaysOf(events: readonly PacedEvent[], arrivals: ReadonlyMap<string, number>): Delays {
  const ofKind = (kind: Kind) => {
    const own = events.filter(({ eventType }) => eventType.startsWith(kind));
    const serviceMs = kind === "slow" ? slowMs : quickMs;
    const since = (from: "publishedAt" | "acceptedAt") =>
      percentile(
        own.map((event) => (arrivals.get(event.id) as number) - event[from]),
        0.95,
      );
    return { deliveredMs: since("publishedAt") + serviceMs, waitedMs: since("acceptedAt") };
  };
  return { quick: ofKind("quick"), slow: ofKind("slow"), new: ofKind("new"), restarted: ofKind("restarted") };
}

/** Two events per second for each small tenant, but one for the slow ones, which could not handle more. */
function smallEvents(durationMs: number): PlannedEvent[] {
  const events: PlannedEvent[] = [];
  for (let tenant = 0; tenant < tenantsPerKind; tenant += 1) {
    for (let nth = 0; nth < durationMs / 500; nth += 1) {
      for (const [offset, kind] of kinds.entries()) {
        if (kind === "slow" && nth % 2 === 1) continue;
        const atMs = nth * 500 + tenant * 100 + offset * 20;
        events.push({ atMs, ...addressOf(kind, tenant, nth) });
      }
    }
  }
  return events.toSorted((left, right) => left.atMs - right.atMs);
}

function addressOf(
  kind: Kind,
  tenant: number,
  nth: number,
): { readonly tenantId: string; readonly eventType: string } {
  const own = kind === "quick" || kind === "slow" ? 0 : nth % freshEach;
  return { tenantId: `${kind}${tenant}`, eventType: `${kind}.${own}` };
}

/** Warm-up events, from which Posthorn learns which endpoints are quick and which are slow. */
const warmUp: readonly PlannedEvent[] = Array.from({ length: tenantsPerKind * 4 }, (_, index) => ({
  atMs: index * 20,
  ...addressOf(index % 2 === 0 ? "quick" : "slow", (index >> 1) % tenantsPerKind, 0),
}));

async function seedFolders(context: Context): Promise<{ readonly plain: string; readonly backlog: string }> {
  const { origin } = context.sink;
  const webhooks = [
    ...kinds.flatMap((kind) => smallWebhooks(origin, kind)),
    ...largeWebhooks("hanging", `${origin}/hang`, largeCount),
    ...largeWebhooks("turning", `${origin}/turn`, largeCount),
    ...largeWebhooks("backlog", `${origin}/slow/${quickMs}`, backlogWebhooks),
  ];
  const plain = await context.folders.filled("tenants-plain", "tenants plain", async (dataDir) => {
    await withPublisher(
      { dataDir },
      async (product) => void (await product.call("createWebhooks", webhooks)),
    );
    await deliverOnce(dataDir);
  });
  const backlog = context.folders.copy(plain, "tenants-backlog");
  const types = Array.from({ length: backlogWebhooks }, (_, index) => `backlog.${index}`);
  await withPublisher({ dataDir: backlog }, (product) =>
    publishDue(product, { events: context.quick ? 40_000 : 100_000, types, tenantId: "backlog" }),
  );
  return { plain, backlog };
}

/** Delivers one event to each endpoint that is restarted later, because these endpoints must have responded before. */
async function deliverOnce(dataDir: string): Promise<void> {
  const product = await new ProductProcess().open({ dataDir }, true);
  try {
    await product.call("start");
    const events = Array.from({ length: tenantsPerKind * freshEach }, (_, index) => ({
      atMs: 0,
      ...addressOf("restarted", index % tenantsPerKind, Math.floor(index / tenantsPerKind)),
    }));
    await product.call("planned", events);
    await product.committed();
    await product.close();
  } finally {
    await product.kill();
  }
}

function smallWebhooks(origin: string, kind: Kind): WebhookSeed[] {
  const each = kind === "quick" || kind === "slow" ? 1 : freshEach;
  const url = `${origin}/slow/${kind === "slow" ? slowMs : quickMs}`;
  return Array.from({ length: tenantsPerKind * each }, (_, index) => {
    const address = addressOf(kind, index % tenantsPerKind, Math.floor(index / tenantsPerKind));
    return { ...address, url: `${url}/${kind}${index}`, schemes: ["v1"] as const };
  });
}

function largeWebhooks(burden: Burden, url: string, count: number): WebhookSeed[] {
  return Array.from({ length: count }, (_, index) => ({
    tenantId: burden,
    eventType: `${burden}.${index}`,
    url: `${url}/${index}`,
    schemes: ["v1"] as const,
    timeoutMs: hangTimeoutMs,
  }));
}

/** A run takes a minute. */
const runsMax = 2;
const arrivalMsMax = 60_000;
