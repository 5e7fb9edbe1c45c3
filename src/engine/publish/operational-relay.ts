import { PosthornError, UnavailableError } from "../../domain/errors.ts";
import { muteAt, type ProblemMove } from "../../features/problems/problem.ts";
import {
  instant,
  mayHear,
  type OperationalEvent,
  operatorTenantId,
  webhookEvent,
} from "../../features/notifications/operational-event.ts";
import { Loop } from "../../ports/clock.ts";
import type { NewNotification, NotificationQueue } from "../../ports/store/notifications.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Ownership } from "../endpoint/ownership.ts";
import { OperationalEvents } from "../endpoint/operational-events.ts";
import type { EngineOptions } from "../engine-options.ts";
import type { Publisher } from "./publish.ts";

/** Creates the notifications about events. */
export type ComposeNotifications = (
  events: readonly OperationalEvent[],
) => Promise<readonly NewNotification[]>;

type RelayOptions = Pick<EngineOptions, "store" | "schedules" | "delivers" | "clock" | "telemetry">;

/**
 * Publishes operational events that wait in the store. They go to subscribed webhooks of their tenant and of the
 * operator, and to people as notifications. One process at a time does this. An event is published under its own key,
 * so an event that was published right before a crash is not published again.
 */
export class OperationalRelay {
  readonly #options: RelayOptions;
  /** Null if this process does not publish operational events, or the store keeps none. */
  readonly #queue: NotificationQueue | null;
  readonly #directory: Directory;
  readonly #publisher: () => Publisher;
  readonly #ownership: () => Ownership;
  readonly #loop: Loop;
  /** Operational events of this engine. */
  readonly events: OperationalEvents;
  compose: ComposeNotifications = async () => [];

  /** `touch` is called when there are events for the next transaction. */
  constructor(
    options: RelayOptions,
    directory: Directory,
    publisher: () => Publisher,
    ownership: () => Ownership,
    touch: () => void,
  ) {
    const { clock, telemetry, store, delivers, schedules = delivers } = options;
    this.#options = options;
    this.#queue = schedules ? (store.notifications ?? null) : null;
    this.#directory = directory;
    this.#publisher = publisher;
    this.#ownership = ownership;
    // Whether other processes may write events, so that this one must poll.
    const isShared = store.ownership !== undefined;
    this.events = new OperationalEvents(touch, () => this.stored());
    this.#loop = new Loop({
      clock,
      round: () => this.round(),
      pauseMs: () => (isShared ? lookMs : idleMs),
      failed: (error) => {
        telemetry.log.warn(
          { err: String(error) },
          "publishing operational events failed; the next round will retry",
        );
        this.#loop.soon(lookMs);
      },
    });
  }

  start(): void {
    if (this.#queue !== null) this.#loop.soon(0);
  }

  /** Publishes new events soon. Called when they were stored. */
  stored(): void {
    if (this.#queue !== null) this.#loop.soon(0);
  }

  /** Announces a problem that opened or was resolved, unless it is muted. */
  problemMoved({ kind, problem }: ProblemMove): void {
    const webhook = this.#directory.get(problem.webhookId)?.webhook;
    if (webhook === undefined || muteAt(problem, this.#options.clock.now()) !== null) return;
    const isOpening = kind === "opened";
    const type = isOpening ? "posthorn.problem.opened" : "posthorn.problem.resolved";
    const at = isOpening ? problem.lastSeenAt : (problem.resolvedAt ?? problem.lastSeenAt);
    const { category, statusCode, errorCode } = problem.kind;
    const data = {
      problem_id: problem.id,
      category,
      status_code: statusCode,
      error_code: errorCode,
      first_seen_at: instant(problem.firstSeenAt),
      deliveries: problem.deliveries,
    };
    this.events.tell(webhookEvent(webhook, { type, of: `${problem.id}:${at}`, at, data }));
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Publishes all waiting events. Public for tests. */
  async round(): Promise<void> {
    const queue = this.#queue;
    const { clock } = this.#options;
    while (queue !== null && !this.#loop.isStopped) {
      const events = await queue.pendingEvents(eventsAtOnce);
      if (events.length === 0 || !(await this.#ownership().isLeader(leadership))) return;
      for (const event of events) await this.#publish(event);
      const notifications = await this.compose(events);
      await queue.relayed({ keys: events.map(({ key }) => key), at: clock.now(), notifications });
      if (events.length < eventsAtOnce) return;
    }
  }

  async #publish(event: OperationalEvent): Promise<void> {
    const { tenantId, onlyForOperator = false } = event;
    if (!onlyForOperator) await this.#publishTo(tenantId, event);
    if (tenantId !== operatorTenantId) await this.#publishTo(operatorTenantId, event);
  }

  /** Publishes an event to the subscribers of one tenant. Without subscribers, nothing is stored. */
  async #publishTo(tenantId: string, event: OperationalEvent): Promise<void> {
    const endpoints = (): readonly Endpoint[] => this.#listeners(tenantId, event);
    if (endpoints().length === 0) return;
    const { type, data, key } = event;
    try {
      await this.#publisher().publishTo(
        { endpoints, origin: "publish" },
        { tenantId, eventType: type, data, idempotencyKey: key },
      );
    } catch (error) {
      if (!(error instanceof PosthornError) || error instanceof UnavailableError) throw error;
      // The event is a duplicate or cannot be published. It must not block later events.
      this.#options.telemetry.log.warn({ err: error.message, key }, "an operational event was rejected");
    }
  }

  #listeners(tenantId: string, event: OperationalEvent): readonly Endpoint[] {
    const about = event.webhookId === null ? null : (this.#directory.get(event.webhookId)?.webhook ?? null);
    return this.#directory.subscriptions
      .of(tenantId, event.type)
      .filter(({ webhook }) => mayHear(webhook, event, about));
  }
}

const eventsAtOnce = 100;
const lookMs = 1_000;
const idleMs = 60_000;
const leadership = { name: "operational-events", forMs: 15_000 };
