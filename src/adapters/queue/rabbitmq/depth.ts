import type { ChannelModel } from "amqplib";
import type { WorkQueueDepth } from "../../../ports/work-queue.ts";
import { WorkQueueSetupError, type WorkQueueProblem } from "./errors.ts";
import { type Topology, withChannel } from "./topology.ts";

/** Counts waiting hints at the broker. Declares missing queues, so that they exist when the next hint is sent. */
export async function readDepth(connection: ChannelModel, topology: Topology): Promise<WorkQueueDepth> {
  const waiting: WorkQueueDepth["waiting"][number][] = [];
  for (const pool of topology.pools) {
    try {
      waiting.push(...(await countPool(connection, topology, pool)));
    } catch (error) {
      // Skip a pool whose queues are not ours: none of our hints wait there, and the reannouncer needs the other pools.
      if (!isProblem(error, "mismatch", "no_permission")) throw error;
    }
  }
  const parked = await withChannel(connection, (channel) => topology.countParked(channel));
  return { waiting, parked };
}

async function countPool(
  connection: ChannelModel,
  topology: Topology,
  pool: string,
): Promise<WorkQueueDepth["waiting"]> {
  if (topology.isRefused(pool)) return [];
  // Use a separate channel, because a refusal closes it.
  const count = () => withChannel(connection, (channel) => topology.countPool(pool, channel));
  await topology.ensure(pool);
  try {
    return await count();
  } catch (error) {
    if (!isProblem(error, "missing")) throw error;
  }
  // One of the queues was deleted.
  topology.forget(pool);
  await topology.ensure(pool);
  return count();
}

function isProblem(error: unknown, ...problems: readonly WorkQueueProblem[]): boolean {
  return error instanceof WorkQueueSetupError && problems.includes(error.problem);
}
