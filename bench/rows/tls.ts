import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";
import {
  compareWithRaw,
  type ComparedWithRaw,
  delayP95,
  type Figure,
  judged,
  lineOfRatio,
  median,
  percentile,
  withoutGoal,
} from "../measure.ts";
import { eventTypeOf } from "../message.ts";
import { type LoopStop, ProductProcess, type WebhookSeed } from "../product/product.ts";
import { seedWebhooks, webhooksOverTls } from "../product/seed.ts";
import { type Context, type Line, type Row, RowSkippedError } from "../row.ts";
import { SenderProcess } from "../sender/sender.ts";
import { type Counts, drainOnce } from "./drain.ts";

// ---- due deliveries ----------------------------------------------------------------------------------------------

interface OverTls extends Counts {
  readonly path: string;
  /** Number of webhooks, each with its own origin. */
  readonly webhooks: number;
}

/** Settings for deliveries to 100 origins over open connections. */
function warm({ quick }: Context): OverTls {
  const counts = quick ? { warmUp: 1_000, count: 5_000 } : { warmUp: 5_000, count: 40_000 };
  return { ...counts, path: "/ok/warm", webhooks: 100 };
}

/** Settings for deliveries to 2,000 origins. Each origin gets one delivery and closes the connection. */
function cold({ quick }: Context): OverTls {
  const counts = quick ? { warmUp: 100, count: 400 } : { warmUp: 500, count: 2_000 };
  return { ...counts, path: "/close/cold", webhooks: counts.warmUp + counts.count };
}

export const tlsWarm: Row = {
  name: "tls-warm",
  async run(context) {
    const input = warm(context);
    const figure = await compareOverTls(context, "tls-warm", input, input.count / 2);
    return [lineOfRatio("tls-warm", "deliveries/s", figure, null)];
  },
};

export const tlsCold: Row = {
  name: "tls-cold",
  async run(context) {
    const input = cold(context);
    const { value, baseline, ratio, mainCpuUs } = await compareOverTls(
      context,
      "tls-cold",
      input,
      input.count,
    );
    return [
      judged(
        { name: "tls-cold", value, unit: "deliveries/s", baseline, ratio },
        "≥ 0.90 × raw, main thread ≤ 60 µs",
        (share) => share >= 0.9 && mainCpuUs <= 60,
      ),
    ];
  },
};

function compareOverTls(
  context: Context,
  name: string,
  input: OverTls,
  rawRequests: number,
): Promise<ComparedWithRaw> {
  let samples = 0;
  const raw = () => {
    samples += 1;
    // Uses new names each time, so that no session can be resumed.
    const names = Array.from({ length: input.webhooks }, (_, n) => `r${samples}-${n}`);
    return context.raw.overTls(
      names.map((each) => context.sink.tlsOrigin(each)),
      input.path,
      rawRequests,
    );
  };
  return compareWithRaw(context, name, () => drainOverTls(context, name, input), raw);
}

function drainOverTls(context: Context, name: string, input: OverTls, cores?: number): Promise<Figure> {
  const webhooks = webhooksOverTls(context.sink, input.webhooks, input.path);
  const { warmUp, count } = input;
  return drainOnce(context, { name, webhooks, warmUp, count, ...(cores === undefined ? {} : { cores }) });
}

/**
 * Sends the same deliveries with Posthorn limited to 1, 2, 4 … of the machine's cores. The sink may use all cores, so
 * on a machine with two cores it competes with Posthorn for the second one.
 */
export const cores: Row = {
  name: "cores",
  async run(context) {
    requireTaskset();
    const ofWarm = await byCores(context, "warm", warm(context));
    return [...ofWarm, ...(await byCores(context, "cold", cold(context)))];
  },
};

/** The runs alternate between the numbers of cores, because the machine's speed varies. */
async function byCores(context: Context, kind: string, input: OverTls): Promise<readonly Line[]> {
  const figures = new Map<number, Figure[]>(coreCounts().map((count) => [count, []]));
  for (let run = 0; run < context.runs; run += 1)
    for (const [count, measured] of figures)
      measured.push(await drainOverTls(context, `cores-${kind}`, input, count));
  const rateOf = (measured: readonly Figure[]): number => median(measured.map(({ perSecond }) => perSecond));
  const baseline = rateOf(figures.get(1) ?? []);
  return [...figures].map(([count, measured]) => {
    const cpuUs = median(measured.map((figure) => figure.cpuUs));
    const mainUs = median(measured.map((figure) => figure.mainCpuUs));
    const sinkPercent = Math.round(100 * Math.max(...measured.map((figure) => figure.sinkCpuShare)));
    const name = `cores: ${kind}, ${count}`;
    context.note(
      `${name}: ${cpuUs.toFixed(0)} µs of processor time each (main thread ${mainUs.toFixed(0)}), ` +
        `sink at ${sinkPercent} % of a core`,
    );
    const value = rateOf(measured);
    return withoutGoal({ name, value, unit: "deliveries/s", baseline, ratio: value / baseline });
  });
}

/** Returns 1, 2, 4 … and the number of all cores. */
function coreCounts(): readonly number[] {
  const all = availableParallelism();
  const counts: number[] = [];
  for (let count = 1; count < all; count *= 2) counts.push(count);
  return [...counts, all];
}

function requireTaskset(): void {
  try {
    execFileSync("taskset", ["--version"], { stdio: "ignore" });
  } catch {
    throw new RowSkippedError("`taskset` of util-linux, which binds a process to cores, is not installed");
  }
}

// ---- publishing at the same time ---------------------------------------------------------------------------------

interface Published {
  readonly p95Ms: number;
  readonly stop: LoopStop;
  readonly mainUs: number;
  readonly cpuUs: number;
}

/**
 * Measures the p95 of `POST /v1/events` at 400 requests per second. Each event opens a TLS connection, because every
 * receiver closes the connection after its response. Compared with a run without TLS.
 */
export const publishUnderTls: Row = {
  name: "publish-under-tls",
  async run(context) {
    const { sink } = context;
    const overTls = webhooksOverTls(sink, context.quick ? 300 : 2_000, "/close/tls");
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
    const costOf = (runs: readonly Published[]): string => {
      const mainUs = median(runs.map((one) => one.mainUs)).toFixed(0);
      return `${median(runs.map(({ cpuUs }) => cpuUs)).toFixed(0)} µs of processor time an event (main thread ${mainUs})`;
    };
    context.note(
      `publish-under-tls: ${costOf(tlsRuns)}, without TLS ${costOf(plainRuns)}; longest stop of the main loop ` +
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
  const dataDir = await seedWebhooks(context, name, webhooks);
  const product = new ProductProcess();
  const publisher = new SenderProcess();
  try {
    const to = { ...(await product.serve({ dataDir })), types: webhooks.map(({ eventType }) => eventType) };
    await publisher.call("publishPaced", { to, perSecond: 400, durationMs: durationMs / 2 });
    await product.committed();
    await context.sink.call("reset");
    await product.call("longestStop");
    const before = await product.usage();
    const tookMs = (await publisher.call("publishPaced", { to, perSecond: 400, durationMs })).map(
      (event) => event.tookMs,
    );
    await product.committed();
    const after = await product.usage();
    const { all, resumed } = await context.sink.call("handshakes");
    context.progress(`${name}: ${all} handshakes for ${tookMs.length} events, ${resumed} of them resumed`);
    return {
      p95Ms: percentile(tookMs, 0.95),
      stop: await product.call("longestStop"),
      cpuUs: ((after.cpuMs - before.cpuMs) * 1000) / tookMs.length,
      mainUs: ((after.mainCpuMs - before.mainCpuMs) * 1000) / tookMs.length,
    };
  } finally {
    await publisher.kill();
    await product.kill();
    context.folders.discard(dataDir);
  }
}

// ---- many origins ------------------------------------------------------------------------------------------------

/**
 * Uses 10,000 webhooks on 2,000 origins, each of which is used once a minute. The first round opens connections, and
 * the second is measured. Compared with a client that opens a connection for each request.
 */
export const hosts: Row = {
  name: "hosts",
  async run(context) {
    const { sink } = context;
    const origins = context.quick ? 100 : 2_000;
    const webhooks: WebhookSeed[] = Array.from({ length: 5 * origins }, (_, index) => ({
      url: `${sink.tlsOrigin(`h${index % origins}`)}/ok/${index}`,
      eventType: eventTypeOf(index),
      schemes: ["v1"],
    }));
    const value = await visit(context, webhooks, context.quick ? 3_000 : 60_000);
    const names = Array.from({ length: origins }, (_, index) => sink.tlsOrigin(`hraw${index}`));
    const raws: number[] = [];
    for (let run = 0; run < context.runs; run += 1)
      raws.push((await context.raw.overTls(names, "/close/hosts", origins)).cpuUs);
    const baseline = median(raws);
    return [withoutGoal({ name: "hosts", value, unit: "µs an event", baseline, ratio: value / baseline })];
  },
};

/** Returns the CPU time per event. */
async function visit(context: Context, webhooks: readonly WebhookSeed[], roundMs: number): Promise<number> {
  const { sink } = context;
  const dataDir = await seedWebhooks(context, "hosts", webhooks);
  const perSecond = (webhooks.length * 1_000) / roundMs;
  const pace = { perSecond, durationMs: roundMs, types: webhooks.map(({ eventType }) => eventType) };
  const product = await new ProductProcess().open({ dataDir }, true);
  try {
    await product.call("start");
    await product.call("paced", pace);
    await product.committed();
    await sink.call("reset");
    await sink.call("record");
    const before = await product.usage();
    const published = await product.call("paced", pace);
    await product.committed();
    const after = await product.usage();
    const { fromAcceptedMs } = delayP95(published, await sink.arrivals());
    const { all } = await sink.call("handshakes");
    await product.close();
    const cpuUs = ((after.cpuMs - before.cpuMs) * 1_000) / published.length;
    const mainUs = ((after.mainCpuMs - before.mainCpuMs) * 1_000) / published.length;
    context.note(
      `hosts: ${cpuUs.toFixed(0)} µs of processor time an event (main thread ${mainUs.toFixed(0)}), ` +
        `${all} handshakes for ${webhooks.length} events at ${perSecond.toFixed(0)}/s; ` +
        `p95 ${fromAcceptedMs.toFixed(1)} ms from accepted to received`,
    );
    return cpuUs;
  } finally {
    await product.kill();
    context.folders.discard(dataDir);
  }
}
