import type { ChannelModel } from "amqplib";
import { priorities } from "../../../core/delivery.ts";
import type { WorkQueueDepth } from "../../../ports/work-queue.ts";
import { type Topology, withChannel } from "./topology.ts";

/** Asks the broker. Declares queues that are missing, because asking for a queue that is not there closes a channel. */
export function readDepth(connection: ChannelModel, topology: Topology): Promise<WorkQueueDepth> {
  return withChannel(connection, async (channel) => {
    const waiting: WorkQueueDepth["waiting"][number][] = [];
    for (const pool of topology.pools) {
      // The queues of a refused pool would close this channel too, and nothing waits there that is ours.
      if (topology.isRefused(pool)) continue;
      for (const priority of priorities) {
        const notices = await topology.count(topology.workQueue(pool, priority), channel);
        waiting.push({ pool, priority, notices });
      }
    }
    return { waiting, parked: await topology.count(topology.parkedQueue, channel) };
  });
}
