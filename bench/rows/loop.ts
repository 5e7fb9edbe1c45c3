import { setTimeout as sleep } from "node:timers/promises";
import { judged, percentile } from "../measure.ts";
import { callApi, type LoopStop, ProductProcess, type ServedProduct } from "../product/product.ts";
import { seedWebhooks, webhooksFor, withPublisher } from "../product/seed.ts";
import type { Context, Line, Row } from "../row.ts";

const eventType = "order.paid";
const stopMsGoal = 100;
const dayMs = 86_400_000;
/** Long enough to include upkeep, which begins five seconds after the start. */
const retentionMs = 35_000;
const retentionMsQuick = 12_000;

/** Measures how long the event loop is blocked by the most expensive requests and by retention. */
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
  const webhooks = webhooksFor(context.sink.origin, context.quick ? 200 : 1_000, ["v1"], eventType);
  const dataDir = await seedWebhooks(context, "loop", webhooks);
  const product = new ProductProcess();
  try {
    const served = await product.serve({ dataDir });
    // Compiles code and opens connections, so that the process is in the state of one that has run for a while.
    await batch(served, 20, eventType, { id: 1 });
    await sleep(500);
    const lines: Line[] = [];
    const measure = async (name: string, work: () => Promise<unknown>): Promise<void> => {
      await product.call("longestStop");
      const startedAt = performance.now();
      await work();
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      lines.push(lineOf(context, name, await product.call("longestStop")));
      context.progress(`${name}: ${seconds} s`);
    };
    await measure("schema", () => costlySchema(served));
    await measure("catalogue", () => largestCatalogue(served));
    await measure("listing", () => largestListings(served));
    const events = context.quick ? 100 : 1_000;
    await measure("batch", () => batch(served, events, eventType, { id: 1 }));
    return lines;
  } finally {
    await product.kill();
    context.folders.discard(dataDir);
  }
}

function batch(product: ServedProduct, events: number, type: string, data: unknown): Promise<string> {
  const event = { event_type: type, data };
  return callApi(product, "POST /v1/events/batch", { events: Array.from({ length: events }, () => event) });
}

/**
 * Registers a schema with the maximum number of subschemas, one of them expensive to reject, and validates a batch
 * against it.
 */
async function costlySchema(product: ServedProduct): Promise<void> {
  const $defs: Record<string, unknown> = { d20: { type: "string" } };
  for (let index = 0; index < 20; index += 1) {
    const next = { $ref: `#/$defs/d${index + 1}` };
    $defs[`d${index}`] = { anyOf: [next, next] };
  }
  const names = Array.from({ length: 420 }, (_, index) => `name_${index}`);
  const field = { type: "string", pattern: "^[a-z]+$", maxLength: 90 };
  const properties = Object.fromEntries(names.map((name) => [name, field]));
  const schema = { $defs, properties: { ...properties, deep: { $ref: "#/$defs/d0" } } };
  await callApi(product, "PUT /v1/event-types/costly.kind", { schema });
  await batch(product, 1_000, "costly.kind", { deep: 1 });
}

/**
 * Registers event types up to the limit. Several clients then read them concurrently: by name, in pages and as a
 * document.
 */
async function largestCatalogue(product: ServedProduct): Promise<void> {
  const examples = [{ text: "x".repeat(100_000) }];
  const schema = { properties: { text: { type: "string", description: "y".repeat(50_000) } } };
  for (let index = 0; index < 26; index += 1)
    await callApi(product, `PUT /v1/event-types/large.kind_${index}`, { schema, examples });
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      await callApi(product, "GET /v1/event-types/costly.kind");
      await callApi(product, "GET /v1/event-types?limit=250");
    }),
  );
  await callApi(product, "GET /v1/webhook-docs/openapi.json");
  await callApi(product, "GET /v1/webhook-docs/asyncapi.json?profile=event-delivery");
}

async function largestListings(product: ServedProduct): Promise<void> {
  const { data } = JSON.parse(await callApi(product, "GET /v1/events?limit=1")) as { data: { id: string }[] };
  const deliveries = `events/${data[0]?.id}/deliveries`;
  for (const path of ["webhooks", deliveries, "events", "dlq", "event-types"])
    await Promise.all(Array.from({ length: 8 }, () => callApi(product, `GET /v1/${path}?limit=250`)));
}

// ---- retention ----------------------------------------------------------------------------------------------------

/** Publishes events at a steady rate while retention removes old ones. */
async function retention(context: Context): Promise<Line[]> {
  const events = context.quick ? 100_000 : 2_000_000;
  const webhooks = webhooksFor(context.sink.origin, 1, ["v1"], eventType);
  const dataDir = await context.folders.filled("loop-retention", `${events}`, (folder) =>
    withPublisher({ dataDir: folder }, async (product) => {
      const [webhookId = ""] = await product.call("createWebhooks", webhooks);
      await product.call("writeOldEvents", { webhookId, events, ageMs: 100 * dayMs });
    }),
  );
  const product = await new ProductProcess().open({ dataDir }, true);
  try {
    await product.call("start");
    await product.call("paced", { perSecond: 200, durationMs: 2_000, types: [eventType] });
    await product.call("longestStop");
    const paced = await product.call("paced", {
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
    return [lineOf(context, "retention", await product.call("longestStop"))];
  } finally {
    await product.kill();
    context.folders.discard(dataDir);
  }
}

// ---- idle --------------------------------------------------------------------------------------------------------

/** Measures the cost of 10,000 webhooks without events. */
export const idle: Row = {
  name: "idle",
  async run(context) {
    const { quick, profile } = context;
    const count = quick ? 2_000 : 10_000;
    const dataDir = await seedWebhooks(context, "idle", webhooksFor(context.sink.origin, count));
    const product = await new ProductProcess().open({ dataDir }, true);
    try {
      await product.call("start");
      await sleep(quick ? 500 : 1_000);
      if (profile !== null) await product.startProfile();
      const before = await product.usage();
      const startedAt = performance.now();
      // The whole interval includes the first round of upkeep.
      await sleep(quick ? 2_500 : 10_000);
      const after = await product.usage();
      const elapsedMs = performance.now() - startedAt;
      if (profile !== null) await product.stopProfile(profile.file);
      const percent = (100 * (after.cpuMs - before.cpuMs)) / elapsedMs;
      const mib = Math.round(after.rssBytes / 1024 ** 2);
      context.note(`idle: ${count.toLocaleString("en")} webhooks, resident ${mib} MiB`);
      await product.close();
      const line = { name: "idle", value: percent, unit: "% of a core", baseline: 1, ratio: percent };
      return [judged(line, "≤ 1 %", (share) => share <= 1)];
    } finally {
      await product.kill();
      context.folders.discard(dataDir);
    }
  },
};
