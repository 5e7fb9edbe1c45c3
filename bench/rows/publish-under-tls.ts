import { eventTypeOf } from "../message.ts";
import type { LoopStop } from "../product/loop-watch.ts";
import { ProductProcess } from "../product/product.ts";
import type { WebhookSeed } from "../product/product.ts";
import { seedWebhooks, webhooksOverTls } from "../product/seed.ts";
import { PublisherProcess } from "../publisher/publisher.ts";
import { judged } from "../row.ts";
import type { Context, Row } from "../row.ts";
import { median, percentile } from "../statistics.ts";

/** Each event opens a connection, because every receiver closes its connection with the answer. */
const perSecond = 400;
const webhookCount = { quick: 300, full: 2_000 };
const p95 = 0.95;

interface Published {
  readonly p95Ms: number;
  readonly stop: LoopStop;
  readonly mainUs: number;
  readonly cpuUs: number;
}

/** p95 of `POST /v1/events` beside 400 new TLS connections a second, compared with as many new ones without TLS. */
export const publishUnderTls: Row = {
  name: "publish-under-tls",
  async run(context) {
    const { sink } = context;
    const count = context.quick ? webhookCount.quick : webhookCount.full;
    const overTls = webhooksOverTls(sink, count, "/close/tls");
    const plain = overTls.map((webhook) => ({ ...webhook, url: `${sink.origin}/close/plain` }));
    const tlsRuns: Published[] = [];
    const plainRuns: Published[] = [];
    for (let run = 0; run < context.runs; run += 1) {
      plainRuns.push(await publishOnce(context, "publish-plain", plain));
      tlsRuns.push(await publishOnce(context, "publish-under-tls", overTls));
    }
    const value = median(tlsRuns.map(({ p95Ms }) => p95Ms));
    const baseline = median(plainRuns.map(({ p95Ms }) => p95Ms));
    const stopMs = Math.max(...tlsRuns.map(({ stop }) => stop.ms));
    const workMs = Math.max(...tlsRuns.map(({ stop }) => stop.processorMs));
    const of = (runs: readonly Published[]): string =>
      `${median(runs.map(({ cpuUs }) => cpuUs)).toFixed(0)} µs of processor time an event (main thread ${median(runs.map(({ mainUs }) => mainUs)).toFixed(0)})`;
    context.note(
      `publish-under-tls: ${of(tlsRuns)}, without TLS ${of(plainRuns)}; longest stop of the main loop ` +
        `${stopMs.toFixed(1)} ms, ${workMs.toFixed(1)} ms of it work`,
    );
    return [
      judged(
        { name: "publish-under-tls", value, unit: "ms p95", baseline, ratio: value / baseline },
        "≤ 2 × plain or 5 ms, no stop > 20 ms",
        (times) => (times <= 2 || value <= 5) && workMs <= 20,
      ),
    ];
  },
};

async function publishOnce(
  context: Context,
  name: string,
  webhooks: readonly WebhookSeed[],
): Promise<Published> {
  const durationMs = context.quick ? 2_000 : 15_000;
  const types = webhooks.map((_, index) => eventTypeOf(index));
  const dataDir = await seedWebhooks(context, name, webhooks);
  const product = new ProductProcess();
  const publisher = new PublisherProcess();
  try {
    const { url, adminKey } = await product.serve({ dataDir });
    const publish = (forMs: number) =>
      publisher.paced({ url, adminKey, types, perSecond, durationMs: forMs });
    await publish(durationMs / 2);
    await product.committed();
    await context.sink.reset();
    await product.longestStop();
    const before = await product.usage();
    const tookMs = (await publish(durationMs)).map((event) => event.tookMs);
    await product.committed();
    const after = await product.usage();
    const { all, resumed } = await context.sink.handshakes();
    context.progress(`${name}: ${all} handshakes for ${tookMs.length} events, ${resumed} of them resumed`);
    return {
      p95Ms: percentile(tookMs, p95),
      stop: await product.longestStop(),
      cpuUs: ((after.cpuMs - before.cpuMs) * 1000) / tookMs.length,
      mainUs: ((after.mainCpuMs - before.mainCpuMs) * 1000) / tookMs.length,
    };
  } finally {
    await publisher.kill();
    await product.kill();
    context.folders.discard(dataDir);
  }
}
