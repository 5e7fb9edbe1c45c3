import type { CircuitTransition } from "../domain/circuit-breaker.ts";
import type { Webhook } from "../domain/webhook.ts";
import type {
  DeliveryStore,
  EndResult,
  RequeueCommand,
  RequeueResult,
  RetryCommand,
  RetryResult,
} from "../ports/store/deliveries.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { circuitOrder } from "./cluster/endpoint-notes.ts";
import type { CommitGroup } from "./commit/commit-group.ts";
import type { Dispatcher } from "./dispatch/dispatcher.ts";
import type { Directory } from "./endpoint/directory.ts";
import type { EndpointStates } from "./endpoint/endpoint-states.ts";
import type { Endpoint } from "./endpoint/endpoint.ts";
import type { Ownership } from "./endpoint/ownership.ts";
import type { EndDeliveries, WebhookChange } from "./engine-access.ts";

/** Users' actions on stored deliveries: requeue, retry, end. */
export class DeliveryChanges {
  readonly #store: DeliveryStore;
  readonly #commits: CommitGroup;
  readonly #directory: Directory;
  readonly #dispatcher: Dispatcher;
  readonly #isCounted: boolean;

  /** `isCounted`: whether statistics include deliveries that the store itself ends. */
  constructor(
    store: DeliveryStore,
    commits: CommitGroup,
    directory: Directory,
    dispatcher: Dispatcher,
    isCounted: boolean,
  ) {
    this.#store = store;
    this.#commits = commits;
    this.#directory = directory;
    this.#dispatcher = dispatcher;
    this.#isCounted = isCounted;
  }

  async requeue(command: RequeueCommand): Promise<RequeueResult> {
    const result = await new Promise<RequeueResult>((resolve, reject) => {
      this.#commits.requeue({
        command,
        done: (answer) => (answer instanceof Error ? reject(answer) : resolve(answer)),
      });
    });
    if (result.kind === "accepted") this.#requeued(command);
    return result;
  }

  async retry(command: RetryCommand): Promise<RetryResult> {
    const result = await new Promise<RetryResult>((resolve, reject) => {
      this.#commits.retry({
        retry: command,
        done: (answer) => (answer instanceof Error ? reject(answer) : resolve(answer)),
      });
    });
    const endpoint = this.#directory.get(command.lane.webhookId);
    if (result.kind !== "accepted" || endpoint === undefined) return result;
    // The delivery may be the head that an ordered lane waits for. This includes lanes from before a change of
    // `ordering`.
    this.#dispatcher.headsChanged(endpoint);
    const lane = endpoint.lane(command.lane);
    this.#dispatcher.stored(lane, lane.tier(result.priority), command.retry.at);
    return result;
  }

  async end({ deliveries, ...command }: EndDeliveries): Promise<readonly EndResult[]> {
    const ids = deliveries.map(({ id }) => id);
    const results = await this.#store.end({ ...command, ids, isCounted: this.#isCounted });
    if (command.event === "discarded") return results;
    const ended = deliveries.filter((_, index) => results[index] === "ended");
    for (const webhookId of new Set(ended.map((delivery) => delivery.webhookId))) {
      const endpoint = this.#directory.get(webhookId);
      if (endpoint !== undefined) this.#dispatcher.headsChanged(endpoint);
    }
    return results;
  }

  /** The requeue stored deliveries of an old event, so their lanes have work. */
  #requeued({ deliveries }: RequeueCommand): void {
    for (const delivery of deliveries) {
      const endpoint = this.#directory.get(delivery.lane.webhookId);
      if (endpoint === undefined || delivery.state !== "pending") continue;
      const lane = endpoint.lane(delivery.lane);
      this.#dispatcher.stored(lane, lane.tier(delivery.priority), delivery.dueAt);
    }
  }
}

interface EndpointChangesOptions {
  readonly telemetry: Pick<Telemetry, "log">;
  readonly directory: Directory;
  readonly states: EndpointStates;
  readonly dispatcher: Dispatcher;
  readonly ownership: Ownership;
  readonly commits: CommitGroup;
}

/** Applies users' changes to running endpoints, in this process or another one. */
export class EndpointChanges {
  readonly #options: EndpointChangesOptions;

  constructor(options: EndpointChangesOptions) {
    this.#options = options;
  }

  /**
   * Applies a change made in this process. If the owner needs information that the webhook itself does not contain, it
   * is sent to the owner as an order.
   */
  made(change: WebhookChange): void {
    const before = this.#options.directory.get(change.webhook.id)?.webhook;
    const endpoint = this.apply(change);
    const kind = before === undefined ? null : beginsAnew(before, change.webhook);
    if (kind === null) return;
    this.#options.ownership.order(endpoint, { kind }).catch((error: unknown) => {
      this.#options.telemetry.log.warn({ err: String(error) }, "notifying the owner of a webhook failed");
    });
  }

  /** Applies the current version of a webhook. Called after any process changed it. */
  apply(change: WebhookChange): Endpoint {
    const { directory, states, dispatcher } = this.#options;
    const before = directory.get(change.webhook.id)?.webhook;
    const endpoint = directory.apply(change.webhook, change.secrets);
    if (before !== undefined) {
      if (before.url !== change.webhook.url) states.moved(endpoint);
      if (beginsAnew(before, change.webhook) === "reenabled") states.reenabled(endpoint);
    }
    dispatcher.considerEndpoint(endpoint);
    return endpoint;
  }

  remove(id: string): void {
    const { directory, states, dispatcher } = this.#options;
    const endpoint = directory.remove(id);
    if (endpoint === undefined) return;
    states.forget(endpoint);
    for (const lane of endpoint.lanes.values()) dispatcher.giveBack(lane);
    endpoint.reconfigure({ ...endpoint.config, webhook: { ...endpoint.webhook, status: "disabled" } });
  }

  async circuitChanged(webhookId: string, transition: CircuitTransition | null): Promise<void> {
    const { directory, states, ownership } = this.#options;
    const endpoint = directory.get(webhookId);
    if (endpoint === undefined) return;
    if (!endpoint.owned) return ownership.order(endpoint, circuitOrder(endpoint));
    if (transition !== null) states.circuitMoved(endpoint, transition);
    states.changed(endpoint);
    await this.#looked(endpoint);
  }

  /** Ends a pause. */
  async resume(webhookId: string): Promise<void> {
    const { directory, states, ownership } = this.#options;
    const endpoint = directory.get(webhookId);
    if (endpoint === undefined) return;
    states.resumed(endpoint);
    if (!endpoint.owned) return ownership.order(endpoint, { kind: "resumed" });
    await this.#looked(endpoint);
  }

  /** Resumes the endpoint's deliveries and stores the change. */
  async #looked(endpoint: Endpoint): Promise<void> {
    this.#options.dispatcher.considerEndpoint(endpoint);
    await this.#options.commits.written();
  }
}

/** The part of a change that affects the owner's endpoint state but is not stored in the webhook. */
function beginsAnew(before: Webhook, now: Webhook): "reenabled" | "resumed" | null {
  if (before.status !== "active" && now.status === "active") return "reenabled";
  return before.url === now.url ? null : "resumed";
}
