import { setTimeout as sleep } from "node:timers/promises";
import { eventTypeOf } from "../message.ts";
import { type Home, ProductProcess } from "../product/product.ts";
import { seedWebhooks, webhooksFor, withPublisher } from "../product/seed.ts";
import { measureSyncMs } from "../report.ts";
import type { Context, Line, Row } from "../row.ts";
import { SenderProcess, type Publishing } from "../sender/sender.ts";
import {
  type DatabaseWork,
  startServers,
  statementSettings,
  StatementTimes,
  type Servers,
} from "../servers.ts";
import { judged, median, percentile, withoutGoal } from "../measure.ts";

const webhookCount = 100;
const webhookTypes = Array.from({ length: webhookCount }, (_, index) => eventTypeOf(index));
const rates = [20, 200, 1_000] as const;
const goalRate = 200;
const warmUp = { perSecond: 200, durationMs: 3_000 };
const durationMs = 10_000;
const durationMsQuick = 2_000;
/** Longer than a settlement may wait for the next commit. */
const settleMs = 200;

/**
 * Measures the cost of an event under low load. Events are published over HTTP one by one, and each is delivered to one
 * webhook.
 */
export const quiet: Row = {
  name: "quiet",
  async run(context) {
    return [
      ...(await measured(context, "embedded", 0.6)),
      ...(await measured(context, "postgres", 1.5)),
      ...(await measured(context, "distributed", 1.5)),
    ];
  },
};

type Mode = "embedded" | "postgres" | "distributed";

async function measured(
  context: Context,
  mode: Mode,
  /** Goal for one event at 200 events per second, including PostgreSQL. */ cpuMsGoal: number,
): Promise<readonly Line[]> {
  const isDistributed = mode === "distributed";
  const servers =
    mode === "embedded" ? null : await startServers(context.folders, isDistributed, statementSettings);
  const statements = servers === null ? null : await StatementTimes.of(servers.postgres);
  const deployment = await Deployment.start(context, servers, isDistributed);
  try {
    const lines: Line[] = [];
    await deployment.stretch(context, warmUp.perSecond, warmUp.durationMs);
    const stretchMs = context.quick ? durationMsQuick : durationMs;
    for (const perSecond of rates) {
      const stretch = await deployment.stretch(context, perSecond, stretchMs);
      context.note(noteOn(stretch, `quiet: ${mode}, ${perSecond}/s`));
      lines.push(...linesOf(stretch, mode, perSecond, cpuMsGoal));
    }
    if (statements !== null) await noteStatements(context, deployment, statements, mode);
    return lines;
  } finally {
    await deployment.remove(context);
  }
}

function linesOf(
  { cpuMs, p95Ms, syncMs }: QuietStretch,
  mode: Mode,
  perSecond: number,
  cpuMsGoal: number,
): readonly Line[] {
  // The value leaves out the broker and Redis, which the note shows separately.
  const value = (cpuMs["Posthorn"] ?? 0) + (cpuMs["PostgreSQL"] ?? 0);
  const line = { name: `quiet: ${mode}, ${perSecond}/s`, value, unit: "ms of processor time an event" };
  if (perSecond !== goalRate) return [withoutGoal({ ...line, baseline: null, ratio: null })];
  const p95Goal = mode === "embedded" ? 2 : 3 * syncMs;
  const p95 = {
    name: `quiet: ${mode}: p95`,
    value: p95Ms,
    unit: "ms p95",
    baseline: p95Goal,
    ratio: p95Ms / p95Goal,
  };
  return [
    judged(
      { ...line, baseline: cpuMsGoal, ratio: value / cpuMsGoal },
      `≤ ${cpuMsGoal} ms`,
      (share) => share <= 1,
    ),
    judged(p95, mode === "embedded" ? "≤ 2 ms" : "≤ 3 flushes", (share) => share <= 1),
  ];
}

function noteOn({ cpuMs, p50Ms, p95Ms, syncMs }: QuietStretch, name: string): string {
  const parts = Object.entries(cpuMs).map(([of, ms]) => `${of} ${ms.toFixed(2)}`);
  return (
    `${name}: ${parts.join(", ")} ms of processor time an event; from publish to received p50 ${p50Ms.toFixed(2)}, ` +
    `p95 ${p95Ms.toFixed(2)} ms; a flush of the disk takes ${syncMs.toFixed(2)} ms`
  );
}

interface QuietStretch {
  /** CPU time per event, by program. */
  readonly cpuMs: Readonly<Record<string, number>>;
  /** Time from the publisher's request to the request at the receiver. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Median duration of flushes directly before and after the interval. */
  readonly syncMs: number;
  readonly events: number;
}

/** Posthorn as users run it, with an application that publishes. */
class Deployment {
  readonly #processes: readonly ProductProcess[];
  readonly #publisher = new SenderProcess();
  readonly #publishing: Publishing;
  readonly #servers: Servers | null;
  readonly #home: Home;

  private constructor(
    processes: readonly ProductProcess[],
    publishing: Publishing,
    servers: Servers | null,
    home: Home,
  ) {
    this.#processes = processes;
    this.#publishing = publishing;
    this.#servers = servers;
    this.#home = home;
  }

  /** Starts one process, or an API process and a worker. */
  static async start(context: Context, servers: Servers | null, isApart: boolean): Promise<Deployment> {
    const webhooks = webhooksFor(context.sink.origin, webhookCount);
    const home = servers?.home ?? { dataDir: await seedWebhooks(context, "quiet", webhooks) };
    if (servers !== null)
      await withPublisher(home, async (product) => {
        await product.call("createWebhooks", webhooks);
      });
    const api = new ProductProcess();
    const worker = isApart ? new ProductProcess() : null;
    const processes = worker === null ? [api] : [api, worker];
    const served = await api.serve(home, isApart ? ["api"] : undefined);
    const elsewhere = { ...home, dataDir: context.folders.fresh("quiet-worker") };
    await worker?.serve(elsewhere, ["scheduler", "worker"]);
    return new Deployment(processes, { ...served, types: webhookTypes }, servers, home);
  }

  async stretch({ sink, folders }: Context, perSecond: number, stretchMs: number): Promise<QuietStretch> {
    await sink.call("reset");
    await sink.call("record");
    const sync = measureSyncMs(folders.root);
    const before = await this.#cpuMs();
    const events = await this.#publisher.call("publishPaced", {
      to: this.#publishing,
      perSecond,
      durationMs: stretchMs,
    });
    await sleep(settleMs);
    const after = await this.#cpuMs();
    sync.push(...measureSyncMs(folders.root));
    await Promise.all(this.#processes.map((process) => process.committed()));
    const arrivals = await sink.arrivals();
    const delays = events.map(({ id, publishedAt }) => (arrivals.get(id) ?? Number.NaN) - publishedAt);
    const cpuMs = Object.entries(after).map(([name, ms]) => [
      name,
      (ms - (before[name] ?? 0)) / events.length,
    ]);
    return {
      cpuMs: Object.fromEntries(cpuMs) as Record<string, number>,
      p50Ms: percentile(delays, 0.5),
      p95Ms: percentile(delays, 0.95),
      syncMs: median(sync),
      events: events.length,
    };
  }

  async remove({ folders }: Context): Promise<void> {
    await this.#publisher.kill();
    for (const process of this.#processes) await process.kill();
    await this.#servers?.remove();
    folders.discard(this.#home.dataDir);
  }

  async #cpuMs(): Promise<Readonly<Record<string, number>>> {
    const usages = await Promise.all(this.#processes.map((process) => process.usage()));
    const each = usages.map(({ cpuMs }) => cpuMs);
    const [api = 0, worker] = each;
    const ours: Record<string, number> = { Posthorn: each.reduce((sum, ms) => sum + ms, 0) };
    const apart: Record<string, number> = worker === undefined ? {} : { "(API": api, "worker)": worker };
    return { ...ours, ...apart, ...this.#servers?.cpuMs() };
  }
}

/** Measured in a separate interval, because counting has a small cost. */
async function noteStatements(
  context: Context,
  deployment: Deployment,
  statements: StatementTimes,
  mode: Mode,
): Promise<void> {
  // Server processes report their counters with a delay, so the first reports must come from the same rate.
  await deployment.stretch(context, goalRate, 1_500);
  await statements.start();
  const { events } = await deployment.stretch(
    context,
    goalRate,
    context.quick ? durationMsQuick : durationMs,
  );
  context.note(describeWork(await statements.stop(), events, `quiet: ${mode}, ${goalRate}/s`));
}

const shownMax = 12;

function describeWork(work: DatabaseWork, events: number, name: string): string {
  const each = (count: number, digits = 2): string => (count / events).toFixed(digits);
  const head =
    `${name}: an event is ${each(work.transactions)} transactions, ${each(work.flushes)} flushes, ` +
    `${each(work.walBytes, 0)} bytes of WAL, ${each(work.rowsInserted)} rows inserted, ` +
    `${each(work.rowsUpdated)} updated, ${each(work.rowsDeleted)} deleted. By statement, for an event:`;
  const lines = work.statements
    .slice(0, shownMax)
    .map(
      ({ text, calls, plans, rows, planMs, execMs }) =>
        `  ${each(planMs, 3)} ms planning + ${each(execMs, 3)} ms; ${each(calls)} calls, ${each(plans)} plans, ` +
        `${each(rows)} rows: ${text}`,
    );
  return [head, ...lines].join("\n");
}
