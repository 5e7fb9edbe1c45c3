// Posthorn in a separate process: `node bench/product/main.ts`, started by product.ts.

import { startPosthorn } from "../../src/app/posthorn.ts";
import { eventData } from "../message.ts";
import { atTimes, machineMs, serveCalls, timesOf } from "../process/serve-calls.ts";
import { type OldEventsInput, park, type ParkInput, writeOldEvents } from "./backlog.ts";
import { closeProduct, openProduct, type Product, productSettings, startProduct } from "./compose.ts";
import type {
  FloodInput,
  Home,
  LoopStop,
  PacedEvent,
  PacedInput,
  PlannedEvent,
  ServedProduct,
  ServeInput,
  WebhookSeed,
} from "./product.ts";

const scope = { tenantId: null };
let product: Product | null = null;
let onSettled: (eventType: string) => void = () => undefined;

async function open({ home, delivers }: { readonly home: Home; readonly delivers: boolean }): Promise<void> {
  product = await openProduct(home, delivers, (fact) => onSettled(fact.eventType));
}

function opened(): Product {
  if (product === null) throw new Error("open comes first");
  return product;
}

/** Starts Posthorn with the HTTP API, as `npm start` does. */
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
    // Webhooks are created sequentially, so that their IDs and rows are in order.
    const { view } = await webhooks.create({ tenantId }, { url, events: [eventType], schemes, ...retry });
    ids.push(view.webhook.id);
  }
  return ids;
}

// ---- publishing --------------------------------------------------------------------------------------------------

/** Publishes events in batches, alternating between types. Waits if too many deliveries are outstanding. */
async function flood(input: FloodInput): Promise<void> {
  const outstanding = new Outstanding(input.outstandingMax);
  onSettled = (eventType) => {
    if (eventType !== input.uncountedType) outstanding.settled();
  };
  const running: Promise<unknown>[] = [];
  for (let published = 0; published < input.events; ) {
    const from = published;
    const types = Array.from(
      { length: Math.min(input.batch, input.events - from) },
      (_, index) => input.types[(from + index) % input.types.length] as string,
    );
    const counted = types.filter((type) => type !== input.uncountedType).length * input.deliveriesPerEvent;
    await outstanding.waitFor(counted);
    outstanding.add(counted);
    running.push(publishAll(types, input.tenantId ?? null));
    published += types.length;
  }
  await Promise.all(running);
}

/**
 * Limits how far a publisher may get ahead of the deliveries. The settlement callbacks wake the publisher. Polling in
 * every turn of the event loop would keep it spinning and change the grouping of commits, which depends on these turns.
 */
class Outstanding {
  readonly #countMax: number;
  #count = 0;
  #waiting: { readonly more: number; readonly resolve: () => void } | null = null;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  add(count: number): void {
    this.#count += count;
  }

  settled(): void {
    this.#count -= 1;
    const waiting = this.#waiting;
    if (waiting === null || this.#count + waiting.more > this.#countMax) return;
    this.#waiting = null;
    waiting.resolve();
  }

  /** Resolves when the limit allows this many more deliveries. */
  async waitFor(more: number): Promise<void> {
    if (this.#count === 0 || this.#count + more <= this.#countMax) return;
    await new Promise<void>((resolve) => {
      this.#waiting = { more, resolve };
    });
  }
}

async function publishAll(types: readonly string[], tenantId: string | null): Promise<void> {
  const entries = await opened().engine.publisher.publishMany(
    { tenantId },
    types.map((eventType) => ({ eventType, data: eventData })),
  );
  const refused = entries.find((entry) => entry.kind === "refused");
  if (refused !== undefined) throw refused.error;
}

function paced({ perSecond, durationMs, types }: PacedInput): Promise<readonly PacedEvent[]> {
  onSettled = () => undefined;
  return atTimes(timesOf(perSecond, durationMs), (index) =>
    publishOne(null, types[index % types.length] as string),
  );
}

function planned(events: readonly PlannedEvent[]): Promise<readonly PacedEvent[]> {
  const times = events.map(({ atMs }) => atMs);
  return atTimes(times, (index) => {
    const { tenantId, eventType } = events[index] as PlannedEvent;
    return publishOne(tenantId, eventType);
  });
}

async function publishOne(tenantId: string | null, eventType: string): Promise<PacedEvent> {
  const publishedAt = machineMs();
  const { id } = await opened().engine.publisher.publish({ tenantId }, { eventType, data: eventData });
  return { id, eventType, publishedAt, acceptedAt: machineMs() };
}

// ---- the event loop ----------------------------------------------------------------------------------------------

const looked = { atMs: 0, processorMs: 0 };
let longest: LoopStop = { ms: 0, processorMs: 0 };
let timer: NodeJS.Timeout | null = null;

/**
 * The longest time that the event loop was blocked since the last call. The first call starts a timer with an interval
 * of one millisecond.
 */
function longestStop(): LoopStop {
  const stop = longest;
  sinceLastLook();
  longest = { ms: 0, processorMs: 0 };
  timer ??= setInterval(() => {
    const { ms, processorMs } = sinceLastLook();
    longest = { ms: Math.max(longest.ms, ms), processorMs: Math.max(longest.processorMs, processorMs) };
  }, 1);
  return stop;
}

function sinceLastLook(): LoopStop {
  const atMs = performance.now();
  const { user, system } = process.threadCpuUsage();
  const processorMs = (user + system) / 1_000;
  const passed = { ms: atMs - looked.atMs, processorMs: processorMs - looked.processorMs };
  Object.assign(looked, { atMs, processorMs });
  return passed;
}

const calls = serveCalls({
  open,
  serve,
  createWebhooks,
  start: () => startProduct(opened()),
  flood,
  paced,
  planned,
  longestStop,
  park: (input: ParkInput) => park(opened(), input),
  writeOldEvents: (input: OldEventsInput) => writeOldEvents(opened(), input),
  close: () => closeProduct(opened()),
});
export type ProductCalls = typeof calls;
