import { PosthornError, UnavailableError } from "../../domain/errors.ts";
import { muteAt, type ProblemMove } from "../../features/problems/problem.ts";
import {
  instant,
  mayHear,
  type OperationalEvent,
  operatorTenantId,
  webhookEvent,
} from "../../features/notifications/operational-event.ts";
import { type Clock, Loop } from "../../ports/clock.ts";
import type { NewNotification, NotificationQueue } from "../../ports/store/notifications.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Ownership } from "../endpoint/ownership.ts";
import { OperationalEvents } from "../endpoint/webhook-lifecycle.ts";
import type { EngineOptions } from "../engine-options.ts";
import type { Publisher } from "./publish.ts";

/** Creates the notifications about events. */
export type ComposeNotifications = (
  events: readonly OperationalEvent[],
) => Promise<readonly NewNotification[]>;

export interface OperationalRelayOptions {
  /** Null if this process does not publish them. */
  readonly queue: NotificationQueue | null;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly directory: Directory;
  readonly publisher: () => Publisher;
  readonly ownership: () => Pick<Ownership, "isLeader">;
  /** There are events for the next transaction. */
  readonly touch: () => void;
  /** Other processes may write events, so this one must poll. */
  readonly isShared: boolean;
}

/**
 * Publishes operational events that wait in the store: to webhooks of their tenant and of the operator that subscribe
 * to them, and as notifications to people. One process at a time does this. The key of an event is also the key of
 * its publish, so an event that was published right before a crash is not published again.
 */
export class OperationalRelay {
  readonly #options: OperationalRelayOptions;
  readonly #loop: Loop;
  /** Operational events of this engine. */
  readonly events: OperationalEvents;
  compose: ComposeNotifications = async () => [];

  constructor(options: OperationalRelayOptions) {
    this.#options = options;
    const { clock, telemetry, isShared, touch } = options;
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
    if (this.#options.queue !== null) this.#loop.soon(0);
  }

  /** There are new events. */
  stored(): void {
    if (this.#options.queue !== null) this.#loop.soon(0);
  }

  /** A problem opened or was resolved. Muted problems are not announced. */
  problemMoved({ kind, problem }: ProblemMove): void {
    const webhook = this.#options.directory.get(problem.webhookId)?.webhook;
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
    const { queue, clock, ownership } = this.#options;
    while (queue !== null && !this.#loop.isStopped) {
      const events = await queue.pendingEvents(eventsAtOnce);
      if (events.length === 0 || !(await ownership().isLeader(leadership))) return;
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

  /** Stores nothing without subscribers. */
  async #publishTo(tenantId: string, event: OperationalEvent): Promise<void> {
    const endpoints = (): readonly Endpoint[] => this.#listeners(tenantId, event);
    if (endpoints().length === 0) return;
    const { type, data, key } = event;
    try {
      await this.#options
        .publisher()
        .publishTo(
          { endpoints, origin: "publish" },
          { tenantId, eventType: type, data, idempotencyKey: key },
        );
    } catch (error) {
      if (!(error instanceof PosthornError) || error instanceof UnavailableError) throw error;
      // It is a duplicate or cannot be published. Do not block later events.
      this.#options.telemetry.log.warn({ err: error.message, key }, "an operational event was rejected");
    }
  }

  #listeners(tenantId: string, event: OperationalEvent): readonly Endpoint[] {
    const { directory } = this.#options;
    const about = event.webhookId === null ? null : (directory.get(event.webhookId)?.webhook ?? null);
    return directory.subscriptions
      .of(tenantId, event.type)
      .filter(({ webhook }) => mayHear(webhook, event, about));
  }
}

/** Does nothing if other processes are responsible. */
export function createRelay(
  { store, schedules, delivers }: Pick<EngineOptions, "store" | "schedules" | "delivers">,
  parts: Omit<OperationalRelayOptions, "queue" | "isShared">,
): OperationalRelay {
  const queue = (schedules ?? delivers) ? store.notifications : null;
  return new OperationalRelay({ ...parts, queue, isShared: store.ownership !== undefined });
}

const eventsAtOnce = 100;
const lookMs = 1_000;
const idleMs = 60_000;
const leadership = { name: "operational-events", forMs: 15_000 };
