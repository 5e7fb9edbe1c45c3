// The product in a process of its own: `node bench/product/main.ts`, driven by product.ts.

import { machineMs, serveCalls } from "../process/serve-calls.ts";
import { eventData } from "../message.ts";
import { startPosthorn } from "../../src/app/posthorn.ts";
import { closeProduct, openProduct, productSettings, startProduct } from "./compose.ts";
import type { Product } from "./compose.ts";
import type { Home } from "./home.ts";
import { LoopWatch } from "./loop-watch.ts";
import { Outstanding } from "./outstanding.ts";
import { writeOldEvents } from "./old-events.ts";
import type { OldEventsInput } from "./old-events.ts";
import { park } from "./park.ts";
import type { ParkInput } from "./park.ts";
import type {
  FloodInput,
  PacedEvent,
  PacedInput,
  PlannedEvent,
  ServedProduct,
  ServeInput,
  WebhookSeed,
} from "./product.ts";

const scope = { tenantId: null };
let product: Product | null = null;
let settledOf: (eventType: string) => void = () => undefined;

async function open(input: { readonly home: Home; readonly delivers: boolean }): Promise<void> {
  product = await openProduct({ ...input, onSettled: (fact) => settledOf(fact.eventType) });
}

function opened(): Product {
  if (product === null) throw new Error("open comes first");
  return product;
}

/** With the HTTP API, exactly as `npm start` runs it. */
async function serve({ home, roles }: ServeInput): Promise<ServedProduct> {
  const { url, adminKey } = await startPosthorn(productSettings(home, roles));
  return { url: url ?? "", adminKey };
}

async function createWebhooks(seeds: readonly WebhookSeed[]): Promise<string[]> {
  const { webhooks, tenants } = opened().services;
  const ids: string[] = [];
  const named = new Set(seeds.flatMap(({ tenantId }) => tenantId ?? []));
  for (const id of named) await tenants.put(scope, { id, input: {} });
  for (const { url, eventType, schemes, tenantId = null, timeoutMs } of seeds) {
    const retry = timeoutMs === undefined ? {} : { retry: { timeoutMs } };
    // One after the other: their ids are in order, and so are their rows.
    const { view } = await webhooks.create({ tenantId }, { url, events: [eventType], schemes, ...retry });
    ids.push(view.webhook.id);
  }
  return ids;
}

/** Publishes events, types in turn, in batches, never more than a bounded number ahead of the deliveries. */
async function flood(input: FloodInput): Promise<void> {
  const { engine } = opened();
  const outstanding = new Outstanding(input.outstandingMax);
  settledOf = (eventType) => {
    if (eventType !== input.uncountedType) outstanding.settled();
  };
  const running: Promise<unknown>[] = [];
  for (let published = 0; published < input.events; ) {
    const types = batchOfTypes(input, published);
    const deliveries = types.filter((type) => type !== input.uncountedType).length * input.deliveriesPerEvent;
    // The publisher waits for room: this is the loop that is being paced.
    await outstanding.waitFor(deliveries);
    outstanding.add(deliveries);
    running.push(publishAll(engine, types, input.tenantId ?? null));
    published += types.length;
  }
  await Promise.all(running);
}

function batchOfTypes(input: FloodInput, from: number): string[] {
  const count = Math.min(input.batch, input.events - from);
  return Array.from(
    { length: count },
    (_, index) => input.types[(from + index) % input.types.length] as string,
  );
}

async function publishAll(
  engine: Product["engine"],
  types: readonly string[],
  tenantId: string | null,
): Promise<void> {
  const entries = await engine.publisher.publishMany(
    { tenantId },
    types.map((eventType) => ({ eventType, data: eventData })),
  );
  const refused = entries.find((entry) => entry.kind === "refused");
  if (refused !== undefined) throw refused.error;
}

/** An open loop: publishes when the time has come, whatever became of what was published before. */
async function paced(input: PacedInput): Promise<readonly PacedEvent[]> {
  const { engine } = opened();
  settledOf = () => undefined;
  const startedAt = machineMs();
  const total = Math.floor((input.perSecond * input.durationMs) / 1000);
  const running: Promise<PacedEvent>[] = [];
  for (let index = 0; index < total; index += 1) {
    const waitMs = startedAt + (index * 1000) / input.perSecond - machineMs();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const eventType = input.types[index % input.types.length] as string;
    running.push(publishOne(engine, null, eventType));
  }
  return Promise.all(running);
}

async function planned(events: readonly PlannedEvent[]): Promise<readonly PacedEvent[]> {
  const { engine } = opened();
  const startedAt = machineMs();
  const running: Promise<PacedEvent>[] = [];
  for (const event of events) {
    const waitMs = startedAt + event.atMs - machineMs();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    running.push(publishOne(engine, event.tenantId, event.eventType));
  }
  return Promise.all(running);
}

async function publishOne(
  engine: Product["engine"],
  tenantId: string | null,
  eventType: string,
): Promise<PacedEvent> {
  const publishedAt = machineMs();
  const { id } = await engine.publisher.publish({ tenantId }, { eventType, data: eventData });
  return { id, eventType, publishedAt, acceptedAt: machineMs() };
}

const loopWatch = new LoopWatch();

serveCalls({
  longestStop: () => loopWatch.take(),
  writeOldEvents: (input: OldEventsInput) => writeOldEvents(opened(), input),
  open,
  serve,
  createWebhooks,
  start: () => startProduct(opened()),
  flood,
  paced,
  planned,
  park: (input: ParkInput) => park(opened(), input),
  close: () => closeProduct(opened()),
});
