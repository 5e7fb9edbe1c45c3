import type {
  DeliveryStore,
  EndResult,
  RequeueCommand,
  RequeueResult,
  RetryCommand,
  RetryResult,
} from "../ports/store/deliveries.ts";
import type { CommitGroup } from "./commit/commit-group.ts";
import type { Dispatcher } from "./dispatch/dispatcher.ts";
import type { Directory } from "./endpoint/directory.ts";
import type { EndDeliveries } from "./engine-access.ts";

export interface DeliveryChangesOptions {
  readonly store: Pick<DeliveryStore, "end">;
  readonly commits: CommitGroup;
  readonly directory: Directory;
  readonly dispatcher: Dispatcher;
  readonly isCounted: boolean;
}

/** Actions of users on stored deliveries: requeue, retry, end. */
export class DeliveryChanges {
  readonly #options: DeliveryChangesOptions;

  constructor(options: DeliveryChangesOptions) {
    this.#options = options;
  }

  async requeue(command: RequeueCommand): Promise<RequeueResult> {
    const result = await new Promise<RequeueResult>((resolve, reject) => {
      this.#options.commits.requeue({
        command,
        done: (answer) => (answer instanceof Error ? reject(answer) : resolve(answer)),
      });
    });
    if (result.kind === "accepted") this.#requeued(command);
    return result;
  }

  async retry(command: RetryCommand): Promise<RetryResult> {
    const result = await new Promise<RetryResult>((resolve, reject) => {
      this.#options.commits.retry({
        retry: command,
        done: (answer) => (answer instanceof Error ? reject(answer) : resolve(answer)),
      });
    });
    const endpoint = this.#options.directory.get(command.lane.webhookId);
    if (result.kind !== "accepted" || endpoint === undefined) return result;
    // It may have been the head that a lane waited for, including a lane from before a change of the ordering.
    this.#options.dispatcher.headsChanged(endpoint);
    const lane = endpoint.lane(command.lane);
    this.#options.dispatcher.stored(lane, lane.tier(result.priority), command.retry.at);
    return result;
  }

  async end({ deliveries, ...command }: EndDeliveries): Promise<readonly EndResult[]> {
    const { store, directory, dispatcher, isCounted } = this.#options;
    const ids = deliveries.map(({ id }) => id);
    const results = await store.end({ ...command, ids, isCounted });
    if (command.event === "discarded") return results;
    const ended = deliveries.filter((_, index) => results[index] === "ended");
    for (const webhookId of new Set(ended.map((delivery) => delivery.webhookId))) {
      const endpoint = directory.get(webhookId);
      if (endpoint !== undefined) dispatcher.headsChanged(endpoint);
    }
    return results;
  }

  /** Deliveries of an old event were stored: their lanes have work. */
  #requeued({ deliveries }: RequeueCommand): void {
    const { directory, dispatcher } = this.#options;
    for (const delivery of deliveries) {
      const endpoint = directory.get(delivery.lane.webhookId);
      if (endpoint === undefined || delivery.state !== "pending") continue;
      const lane = endpoint.lane(delivery.lane);
      dispatcher.stored(lane, lane.tier(delivery.priority), delivery.dueAt);
    }
  }
}
