import type { DeliveryProgress } from "../../domain/delivery.ts";
import { endings } from "../../domain/delivery-state.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { Attention } from "../../domain/classify.ts";
import {
  hourOf,
  instant,
  type OperationalEvent,
  webhookEvent,
} from "../../features/notifications/operational-event.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";
import type { ExpiredDelivery } from "../../ports/store/upkeep.ts";
import type { OperationalEvents } from "../endpoint/operational-events.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { EngineContext } from "../engine-options.ts";

/** An attempt that needs the attention of a person. */
export interface NotableAttempt {
  readonly deliveryId: string;
  readonly attention: Attention;
  /** Reason for the verdict, or `long_pause` if the receiver requested a long pause. */
  readonly reason: string;
  readonly statusCode: number | null;
  /** Target of a redirect; shown to the owner, never followed. */
  readonly location: string | null;
  /** When the webhook's pause ends; null if the response did not request a long pause. */
  readonly pausedUntil: number | null;
}

/**
 * Reports results that a profile marks for attention: `warn` is a log line for investigation (TS16-95), `notify` is
 * also an operational event to other webhooks of the tenant that subscribe to it (TS16-93, TS16-98), and `escalate`
 * is also an error in the operator's log (EDS-9.2.3-14). Repeated failures of an endpoint for the same reason are
 * reported once an hour.
 */
export class OwnerAlerts {
  readonly #context: Pick<EngineContext, "clock" | "telemetry">;
  readonly #operationalEvents: OperationalEvents;
  /** When each `webhook reason` was last reported. Has about as many entries as there are failing webhooks. */
  readonly #reportedAt = new Map<string, number>();

  constructor(context: Pick<EngineContext, "clock" | "telemetry">, operationalEvents: OperationalEvents) {
    this.#context = context;
    this.#operationalEvents = operationalEvents;
  }

  report(endpoint: Endpoint, attempt: NotableAttempt): void {
    const { attention, reason, pausedUntil } = attempt;
    const { clock, telemetry } = this.#context;
    const now = clock.now();
    const name = `${endpoint.webhook.id} ${reason}`;
    const last = this.#reportedAt.get(name);
    if (last !== undefined && Math.abs(now - last) < repeatMs) return;
    this.#remember(name, now);
    const { id: webhookId, tenantId } = endpoint.webhook;
    const { deliveryId, statusCode, location } = attempt;
    telemetry.log[logLevels[attention]](
      { webhookId, tenantId, deliveryId, reason, statusCode, attention, pausedUntil },
      "a response needs attention",
    );
    if (attention === "warn") return;
    const data = {
      level: attention,
      reason,
      status_code: statusCode,
      paused_until: pausedUntil === null ? null : instant(pausedUntil),
      delivery_id: deliveryId,
      location,
    };
    const of = `${reason}:${hourOf(now)}`;
    this.#operationalEvents.tell(
      webhookEvent(endpoint.webhook, { type: "posthorn.webhook.attention", of, at: now, data }),
    );
  }

  /** Reports a dead letter. Only the first of each webhook and hour is reported. */
  exhausted({ webhook }: Endpoint, delivery: ClaimedDelivery, progress: DeliveryProgress): void {
    // A tenant must not be notified of another tenant's delivery.
    if (delivery.tenantId !== webhook.tenantId) return;
    const now = this.#context.clock.now();
    const of = hourOf(now);
    const name = `${webhook.id} exhausted ${of}`;
    if (this.#reportedAt.has(name)) return;
    this.#remember(name, now);
    const { attemptCount, reason } = progress;
    this.#operationalEvents.tell(exhaustedEvent(webhook, { ...delivery, attemptCount }, reason, now));
  }

  #remember(name: string, now: number): void {
    if (this.#reportedAt.size >= reportsMax) this.#reportedAt.clear();
    this.#reportedAt.set(name, now);
  }
}

/**
 * The operational event for a delivery that expired while it waited. The key contains the hour, so the event is sent
 * once per hour.
 */
export function expiredEvent(webhook: Webhook, delivery: ExpiredDelivery, now: number): OperationalEvent {
  return exhaustedEvent(webhook, delivery, endings.expired.reason, now);
}

function exhaustedEvent(
  webhook: Webhook,
  delivery: ExpiredDelivery,
  reason: string | null,
  now: number,
): OperationalEvent {
  const data = {
    delivery_id: delivery.id,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    attempts: delivery.attemptCount,
    reason,
  };
  return webhookEvent(webhook, { type: "posthorn.webhook.exhausted", of: hourOf(now), at: now, data });
}

const logLevels = { warn: "warn", notify: "warn", escalate: "error" } as const satisfies Record<
  Attention,
  string
>;
const repeatMs = 3_600_000;
/** Limits memory use. If an entry is dropped, a report may be repeated. */
const reportsMax = 10_000;
