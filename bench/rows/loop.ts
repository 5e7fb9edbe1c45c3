import { setTimeout as sleep } from "node:timers/promises";
import type { LoopStop } from "../product/loop-watch.ts";
import { ProductProcess } from "../product/product.ts";
import type { ServedProduct } from "../product/product.ts";
import { seedWebhooks, webhooksFor } from "../product/seed.ts";
import { judged } from "../row.ts";
import type { Context, Line, Row } from "../row.ts";
import { percentile } from "../statistics.ts";

const eventType = "order.paid";
const stopMsGoal = 100;
const dayMs = 86_400_000;
/** Upkeep begins five seconds after the start. */
const retentionMs = 35_000;
const retentionMsQuick = 12_000;

/** What a request, or the house-keeping, may do at most: for how long nobody else gets a turn. */
export const loop: Row = {
  name: "loop",
  async run(context) {
    return [...(await requests(context)), ...(await retention(context))];
  },
};

function lineOf(context: Context, name: string, { ms: stopMs, processorMs }: LoopStop): Line {
  context.note(`loop: ${name}: the thread worked for ${processorMs.toFixed(0)} ms in the longest turn`);
  return judged(
    {
      name: `loop: ${name}`,
      value: stopMs,
      unit: "ms the longest stop",
      baseline: stopMsGoal,
      ratio: stopMs / stopMsGoal,
    },
    `≤ ${stopMsGoal} ms`,
    (share) => share <= 1,
  );
}

// ---- requests -----------------------------------------------------------------------------------------------------

async function requests(context: Context): Promise<Line[]> {
  const webhooks = webhooksFor(context.sink.origin, { count: context.quick ? 200 : 1_000, eventType });
  const dataDir = await seedWebhooks(context, "loop", webhooks);
  const product = new ProductProcess();
  try {
    const client = clientOf(await product.serve({ dataDir }));
    // Compiled code and open connections, as in a process that has been running for a while.
    await batch(client, 20, eventType, { id: 1 });
    await sleep(settleMs);
    const lines: Line[] = [];
    const measure = async (name: string, work: () => Promise<unknown>): Promise<void> => {
      await product.longestStop();
      const startedAt = performance.now();
      await work();
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      lines.push(lineOf(context, name, await product.longestStop()));
      context.progress(`${name}: ${seconds} s`);
    };
    await measure("schema", () => costlySchema(client));
    await measure("catalogue", () => largestCatalogue(client));
    await measure("listing", () => largestListings(client));
    const events = context.quick ? 100 : 1_000;
    await measure("batch", () => batch(client, events, eventType, { id: 1 }));
    return lines;
  } finally {
    await product.kill();
    context.folders.discard(dataDir);
  }
}

type Client = (method: string, path: string, body?: unknown) => Promise<string>;

function clientOf({ url, adminKey }: ServedProduct): Client {
  const headers = { "authorization": `Bearer ${adminKey}`, "content-type": "application/json" };
  return async (method, path, body) => {
    const answer = await fetch(url + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.status >= 300) throw new Error(`${method} ${path} was answered ${answer.status}: ${text}`);
    return text;
  };
}

function batch(client: Client, events: number, type: string, data: unknown): Promise<string> {
  const event = { event_type: type, data };
  return client("POST", "/v1/events/batch", { events: Array.from({ length: events }, () => event) });
}

/** As many subschemas as there may be, and one that no data satisfies soon; then a batch that is checked against it. */
async function costlySchema(client: Client): Promise<void> {
  const $defs: Record<string, unknown> = { d20: { type: "string" } };
  for (let index = 0; index < 20; index += 1) {
    const next = { $ref: `#/$defs/d${index + 1}` };
    $defs[`d${index}`] = { anyOf: [next, next] };
  }
  const names = Array.from({ length: 420 }, (_, index) => `name_${index}`);
  const field = { type: "string", pattern: "^[a-z]+$", maxLength: 90 };
  const properties = Object.fromEntries(names.map((name) => [name, field]));
  const schema = { $defs, properties: { ...properties, deep: { $ref: "#/$defs/d0" } } };
  await client("PUT", "/v1/event-types/costly.kind", { schema });
  await batch(client, 1_000, "costly.kind", { deep: 1 });
}

/** Registered up to its limit, then read by name, page by page, and as a document, by several at once. */
async function largestCatalogue(client: Client): Promise<void> {
  const examples = [{ text: "x".repeat(100_000) }];
  const schema = { properties: { text: { type: "string", description: "y".repeat(50_000) } } };
  for (let index = 0; index < 26; index += 1)
    await client("PUT", `/v1/event-types/large.kind_${index}`, { schema, examples });
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      await client("GET", "/v1/event-types/costly.kind");
      await client("GET", "/v1/event-types?limit=250");
    }),
  );
  await client("GET", "/v1/webhook-docs/openapi.json");
  await client("GET", "/v1/webhook-docs/asyncapi.json?profile=event-delivery");
}

async function largestListings(client: Client): Promise<void> {
  const { data } = JSON.parse(await client("GET", "/v1/events?limit=1")) as { data: { id: string }[] };
  const deliveries = `events/${data[0]?.id}/deliveries`;
  for (const path of ["webhooks", deliveries, "events", "dlq", "event-types"])
    await Promise.all(Array.from({ length: 8 }, () => client("GET", `/v1/${path}?limit=250`)));
}

const settleMs = 500;

// ---- retention ----------------------------------------------------------------------------------------------------

/** Published at a steady rate while events that are too old are forgotten. */
async function retention(context: Context): Promise<Line[]> {
  const events = context.quick ? 100_000 : 2_000_000;
  const webhooks = webhooksFor(context.sink.origin, { count: 1, eventType });
  const dataDir = await context.folders.filled("loop-retention", `${events}`, (folder) =>
    fillWithOldEvents(folder, webhooks, events),
  );
  const product = await new ProductProcess().open({ home: { dataDir }, delivers: true });
  try {
    await product.start();
    await product.paced({ perSecond: 200, durationMs: 2_000, types: [eventType] });
    await product.longestStop();
    const paced = await product.paced({
      perSecond: 200,
      durationMs: context.quick ? retentionMsQuick : retentionMs,
      types: [eventType],
    });
    const p99 = percentile(
      paced.map(({ publishedAt, acceptedAt }) => acceptedAt - publishedAt),
      0.99,
    );
    context.note(
      `loop: p99 of publishing is ${p99.toFixed(1)} ms while ${events.toLocaleString("en")} old events go`,
    );
    return [lineOf(context, "retention", await product.longestStop())];
  } finally {
    await product.kill();
    context.folders.discard(dataDir);
  }
}

async function fillWithOldEvents(
  dataDir: string,
  webhooks: ReturnType<typeof webhooksFor>,
  events: number,
): Promise<void> {
  const product = await new ProductProcess().open({ home: { dataDir }, delivers: false });
  try {
    await product.start();
    const [webhookId = ""] = await product.createWebhooks(webhooks);
    await product.writeOldEvents({ webhookId, events, ageMs: 100 * dayMs });
    await product.close();
  } finally {
    await product.kill();
  }
}
