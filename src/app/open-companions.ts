import type { RabbitMqQueueOptions } from "../queue/rabbitmq/open.ts";
import type { RabbitMqQueue } from "../queue/rabbitmq/queue.ts";
import type { RedisSharedStateOptions } from "../shared-state/redis/open.ts";
import type { RedisSharedState } from "../shared-state/redis/shared-state.ts";
import { infrastructureLookup } from "../system/host-names.ts";
import { systemClock } from "../system/clock.ts";
import type { Settings } from "../config/options.ts";
import { routeWork } from "../engine/cluster/queued-work.ts";
import type { Random } from "../ports/random.ts";
import type { ConfigChange } from "../ports/store/changes.ts";
import type { PendingLane } from "../ports/store/ownership.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { MetricSources } from "../system/telemetry/gauges.ts";

/**
 * Services that processes share in addition to the store, if configured. They must be reachable at startup, but may
 * fail later.
 */
export interface Companions {
  readonly workQueue: RabbitMqQueue | null;
  readonly sharedState: RedisSharedState | null;
  close(): Promise<void>;
}

/** Opens both services in parallel. If one fails to open, the other is closed again. */
export async function openCompanions(
  settings: Pick<Settings, "queueUrl" | "queuePrefix" | "redisUrl" | "redisPrefix">,
  random: Random,
  telemetry: Telemetry,
): Promise<Companions> {
  const { queueUrl, queuePrefix, redisUrl, redisPrefix } = settings;
  const common = { random, telemetry, clock: systemClock, connectTimeoutMs, lookup: infrastructureLookup };
  const opening = [
    queueUrl === null ? nothing : openQueue({ ...common, url: queueUrl, prefix: queuePrefix }),
    redisUrl === null ? nothing : openState({ ...common, url: redisUrl, prefix: redisPrefix }),
  ] as const;
  const close = async (): Promise<void> => {
    for (const each of await Promise.allSettled(opening)) {
      if (each.status === "fulfilled") await each.value?.close();
    }
  };
  try {
    const [workQueue, sharedState] = await Promise.all(opening);
    return { workQueue, sharedState, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Hooks through which the store informs its companion services about released work and changed configuration. */
export function storeHooks({ workQueue, sharedState }: Companions) {
  return {
    workQueue:
      workQueue === null
        ? undefined
        : {
            isOpen: () => workQueue.isConnected,
            announce: (lanes: readonly PendingLane[]) => routeWork(workQueue, lanes),
          },
    configChanged: (change: ConfigChange): void => {
      // The announcement is lost while Redis is unavailable. The database announces the change too, and processes
      // reload periodically.
      sharedState?.news.announce(change).catch(() => undefined);
    },
  };
}

/** Sources of metrics about the companion services. */
export function companionSources({ workQueue, sharedState }: Companions): CompanionSources {
  const queueReading = (queue: RabbitMqQueue) => () => ({
    isConnected: queue.isConnected,
    dropped: queue.status.dropped,
    depth: () => queue.depth(),
  });
  return {
    queue: workQueue === null ? undefined : queueReading(workQueue),
    sharedState: sharedState === null ? undefined : () => sharedState.status,
  };
}

type CompanionSources = Pick<MetricSources, "queue" | "sharedState">;

const nothing = Promise.resolve(null);

async function openQueue(options: RabbitMqQueueOptions): Promise<RabbitMqQueue> {
  const { openRabbitMqQueue } = await import("../queue/rabbitmq/open.ts");
  return openRabbitMqQueue(options);
}

async function openState(options: RedisSharedStateOptions): Promise<RedisSharedState> {
  const { openRedisSharedState } = await import("../shared-state/redis/open.ts");
  return openRedisSharedState(options);
}

/** Ensures that a failing startup ends within ten seconds. */
const connectTimeoutMs = 6_000;
