import { RedisServer } from "../../test/services/redis-server.fixture.ts";
import { installPackages } from "../bullmq/packages.ts";
import { compareWithRaw, type Figure, lineOfRatio, median, withoutGoal } from "../measure.ts";
import type { BullmqCalls } from "../bullmq/main.ts";
import { Child } from "../process/child.ts";
import { measureStretch } from "../product/stretch.ts";
import type { RawKind } from "../raw/raw.ts";
import { type Context, type Line, type Row, RowSkippedError } from "../row.ts";

/** The upper limit to which ratios refer: a bare undici loop with `Pool.request`. */
export const raw: Row = {
  name: "raw",
  run: (context) => measure(context, "raw", { by: "request", schemes: ["v1"] }),
};

/** The same loop as `raw`, with undici's faster low-level interface, which Posthorn uses. */
export const rawDispatch: Row = {
  name: "raw-dispatch",
  run: (context) => measure(context, "raw-dispatch", { by: "dispatch", schemes: ["v1"] }),
};

async function measure(context: Context, name: string, kind: RawKind): Promise<readonly Line[]> {
  const rates: number[] = [];
  const cpuUs: number[] = [];
  const startedAt = performance.now();
  const before = await context.sink.usage();
  for (let run = 0; run < context.runs; run += 1) {
    const sample = await context.raw.sample(kind);
    rates.push(sample.perSecond);
    cpuUs.push(sample.cpuUs);
  }
  const after = await context.sink.usage();
  const sinkPercent = Math.round((100 * (after.cpuMs - before.cpuMs)) / (performance.now() - startedAt));
  context.note(
    `${name}: ${median(cpuUs).toFixed(1)} µs of processor time each; sink at ${sinkPercent} % of a core`,
  );
  if (context.profile !== null) await context.raw.profile(context.profile, kind);
  return [withoutGoal({ name, value: median(rates), unit: "requests/s", baseline: null, ratio: null })];
}

/** A BullMQ worker with a Redis that writes an append-only file. Processes a backlog of jobs until all are complete. */
export const bullmq: Row = {
  name: "bullmq",
  async run(context) {
    const redis = await startRedis();
    try {
      await installPackages();
      const measureOnce = () => drainJobs(context, redis.port, context.quick ? 5_000 : 20_000);
      const figure = await compareWithRaw(context, "bullmq", measureOnce);
      return [lineOfRatio("bullmq", "deliveries/s", figure, null)];
    } finally {
      await redis.remove();
    }
  },
};

/** Durable, as required of a Redis that stores jobs. */
async function startRedis(): Promise<RedisServer> {
  const durable = ["--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"];
  try {
    return await RedisServer.start(durable);
  } catch (error) {
    throw new RowSkippedError(`Redis cannot be started: ${String(error).split("\n")[0]}`);
  }
}

async function drainJobs(context: Context, port: number, count: number): Promise<Figure> {
  const warmUp = 2_000;
  const worker = new Child<BullmqCalls>(new URL("../bullmq/main.ts", import.meta.url));
  try {
    await worker.call("open", { port, origin: context.sink.origin });
    await worker.call("add", { count: warmUp + count });
    return await measureStretch(
      context,
      {
        usage: () => worker.usage(),
        committed: () => worker.call("finished"),
        startProfile: () => worker.startProfile(),
        stopProfile: (file) => worker.stopProfile(file),
      },
      { warmUp, count, go: () => worker.call("run") },
    );
  } finally {
    await worker.kill();
  }
}
