import type { ChannelModel } from "amqplib";
import { priorities } from "../../../core/delivery.ts";
import type { WorkQueueDepth } from "../../../ports/work-queue.ts";
import { WorkQueueSetupError } from "./errors.ts";
import { type Topology, withChannel } from "./topology.ts";

/** Asks the broker. Declares queues that are missing, because asking for a queue that is not there closes a channel. */
export async function readDepth(connection: ChannelModel, topology: Topology): Promise<WorkQueueDepth> {
  const waiting: WorkQueueDepth["waiting"][number][] = [];
  for (const pool of topology.pools) {
    try {
      waiting.push(...(await countPool(connection, { topology, pool })));
    } catch (error) {
      // Nothing waits there that is ours, and the reannouncer asks on behalf of all pools.
      if (!isRefusal(error)) throw error;
    }
  }
  const parked = await withChannel(connection, (channel) => topology.count(topology.parkedQueue, channel));
  return { waiting, parked };
}

/** Over a channel of its own, which a refusal closes. */
async function countPool(
  connection: ChannelModel,
  { topology, pool }: { readonly topology: Topology; readonly pool: string },
): Promise<WorkQueueDepth["waiting"]> {
  if (topology.isRefused(pool)) return [];
  return withChannel(connection, async (channel) => {
    const waiting: WorkQueueDepth["waiting"][number][] = [];
    for (const priority of priorities) {
      const hints = await topology.count(topology.workQueue(pool, priority), channel);
      waiting.push({ pool, priority, hints });
    }
    return waiting;
  });
}

function isRefusal(error: unknown): boolean {
  return (
    error instanceof WorkQueueSetupError &&
    (error.problem === "mismatch" || error.problem === "no_permission")
  );
}
