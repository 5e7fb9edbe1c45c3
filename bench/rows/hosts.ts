import { eventTypeOf } from "../message.ts";
import { delayP95 } from "../product/delays.ts";
import { ProductProcess } from "../product/product.ts";
import type { WebhookSeed } from "../product/product.ts";
import { seedWebhooks } from "../product/seed.ts";
import type { Context, Row } from "../row.ts";
import { median } from "../statistics.ts";

interface Hosts {
  readonly webhooks: number;
  readonly origins: number;
  /** Each webhook gets one event in this time. */
  readonly roundMs: number;
}

interface Visited {
  readonly cpuUs: number;
  readonly mainUs: number;
  readonly p95Ms: number;
  readonly handshakes: number;
}

/**
 * Many receivers over TLS, each visited now and then: 10,000 webhooks on 2,000 origins, once a minute each. The first round
 * opens connections, the second is measured.
 */
export const hosts: Row = {
  name: "hosts",
  async run(context) {
    const shape = context.quick
      ? { webhooks: 500, origins: 100, roundMs: 3_000 }
      : { webhooks: 10_000, origins: 2_000, roundMs: 60_000 };
    const visited = await visit(context, shape);
    const perSecond = (shape.webhooks * 1_000) / shape.roundMs;
    const raw = await rawVisit(context, shape);
    context.note(
      `hosts: ${visited.cpuUs.toFixed(0)} µs of processor time an event (main thread ${visited.mainUs.toFixed(0)}), ` +
        `${visited.handshakes} handshakes for ${shape.webhooks} events at ${perSecond.toFixed(0)}/s; ` +
        `p95 ${visited.p95Ms.toFixed(1)} ms from accepted to received`,
    );
    return [
      {
        name: "hosts",
        value: visited.cpuUs,
        unit: "µs an event",
        baseline: raw,
        ratio: visited.cpuUs / raw,
        goal: null,
        pass: null,
      },
    ];
  },
};

async function visit(context: Context, { webhooks, origins, roundMs }: Hosts): Promise<Visited> {
  const { sink } = context;
  const seeds: WebhookSeed[] = Array.from({ length: webhooks }, (_, index) => ({
    url: `${sink.tlsOrigin(`h${index % origins}`)}/ok/${index}`,
    eventType: eventTypeOf(index),
    schemes: ["v1"],
  }));
  const dataDir = await seedWebhooks(context, "hosts", seeds);
  const types = seeds.map(({ eventType }) => eventType);
  const pace = { perSecond: (webhooks * 1_000) / roundMs, durationMs: roundMs, types };
  const product = await new ProductProcess().open({ home: { dataDir }, delivers: true });
  try {
    await product.start();
    await product.paced(pace);
    await product.committed();
    await sink.reset();
    await sink.record();
    const before = await product.usage();
    const published = await product.paced(pace);
    await product.committed();
    const after = await product.usage();
    const { fromAcceptedMs } = delayP95(published, await sink.arrivals());
    const { all } = await sink.handshakes();
    await product.close();
    return {
      cpuUs: ((after.cpuMs - before.cpuMs) * 1_000) / published.length,
      mainUs: ((after.mainCpuMs - before.mainCpuMs) * 1_000) / published.length,
      p95Ms: fromAcceptedMs,
      handshakes: all,
    };
  } finally {
    await product.kill();
    context.folders.discard(dataDir);
  }
}

/** What a client pays that keeps nothing: a new connection for each of as many requests. */
async function rawVisit(context: Context, { origins }: Hosts): Promise<number> {
  const names = Array.from({ length: origins }, (_, index) => context.sink.tlsOrigin(`hraw${index}`));
  const samples: number[] = [];
  for (let run = 0; run < context.runs; run += 1)
    samples.push((await context.raw.overTls(names, "/close/hosts", origins)).cpuUs);
  return median(samples);
}
