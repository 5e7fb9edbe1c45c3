import { besideRaw } from "../beside-raw.ts";
import type { Figure } from "../beside-raw.ts";
import { installPackages } from "../bullmq/packages.ts";
import { startRedis } from "../bullmq/redis-server.ts";
import { Child } from "../process/child.ts";
import { finishing } from "../product/stretch.ts";
import type { Context, Row } from "../row.ts";

/** A BullMQ worker with a Redis that keeps an append-only file: a backlog of jobs until all are done. */
export const bullmq: Row = {
  name: "bullmq",
  async run(context) {
    const redis = await startRedis(context.folders.fresh("redis"));
    try {
      await installPackages();
      const { value, baseline, ratio } = await besideRaw(context, {
        name: "bullmq",
        measure: () => drainOnce(context, redis.port, context.quick ? 5_000 : 20_000),
      });
      return [{ name: "bullmq", value, unit: "deliveries/s", baseline, ratio, goal: null, pass: null }];
    } finally {
      await redis.stop();
    }
  },
};

const warmUp = 2_000;

async function drainOnce(context: Context, port: number, count: number): Promise<Figure> {
  const { sink } = context;
  const worker = new Child(new URL("../bullmq/main.ts", import.meta.url));
  try {
    await worker.call("open", { port, origin: sink.origin });
    await worker.call("add", { count: warmUp + count });
    await sink.reset();
    const warm = sink.when(warmUp);
    const received = sink.when(warmUp + count);
    const going = worker.call("run");
    const startedAt = await finishing(warm, going);
    const before = await Promise.all([worker.usage(), sink.usage()]);
    await finishing(received, going);
    const elapsedMs = (await worker.call<number>("finished")) - startedAt;
    const after = await Promise.all([worker.usage(), sink.usage()]);
    return {
      perSecond: (count * 1000) / elapsedMs,
      cpuUs: ((after[0].cpuMs - before[0].cpuMs) * 1000) / count,
      sinkCpuShare: (after[1].cpuMs - before[1].cpuMs) / elapsedMs,
    };
  } finally {
    await worker.kill();
  }
}
