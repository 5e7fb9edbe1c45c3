import type { Attention } from "../../core/outcome.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { SystemEvent } from "../publish/publish-call.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";

export interface OwnerAlertsOptions {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly announce: (event: Omit<SystemEvent, "onlyWebhookId">) => Promise<void>;
}

/** An attempt that somebody must hear of. */
export interface NotableAttempt {
  readonly deliveryId: string;
  readonly attention: Attention;
  /** Of the verdict; `long_pause` when the receiver asked for a long one. */
  readonly reason: string;
  readonly statusCode: number | null;
  /** Where a redirect pointed; shown to the owner, never followed (C-9). */
  readonly location: string | null;
  /** Nothing is sent to the webhook before; null when the answer asked for no long pause. */
  readonly pausedUntil: number | null;
}

/**
 * Reports what a profile says people must hear: `warn` is a log line for investigation (TS16-95), `notify` also a system
 * event to other webhooks of the tenant that take it (TS16-93, TS16-98), `escalate` an error in the operator's log beside
 * both (EDS-9.2.3-14). An endpoint that fails the same way a thousand times is reported once an hour.
 */
export class OwnerAlerts {
  readonly #options: OwnerAlertsOptions;
  /** When `webhook reason` was last reported; as many as there are failing webhooks. */
  readonly #reportedAt = new Map<string, number>();

  constructor(options: OwnerAlertsOptions) {
    this.#options = options;
  }

  report(endpoint: Endpoint, attempt: NotableAttempt): void {
    const { attention, reason, pausedUntil } = attempt;
    const { clock, telemetry } = this.#options;
    const now = clock.now();
    const name = `${endpoint.webhook.id} ${reason}`;
    const last = this.#reportedAt.get(name);
    if (last !== undefined && Math.abs(now - last) < repeatMs) return;
    this.#remember(name, now);
    const { id: webhookId, tenantId } = endpoint.webhook;
    const { deliveryId, statusCode, location } = attempt;
    telemetry.log[logLevels[attention]](
      { webhookId, tenantId, deliveryId, reason, statusCode, attention, pausedUntil },
      "an answer needs attention",
    );
    if (attention === "warn") return;
    const data = {
      ...{ webhook_id: webhookId, level: attention, reason, status_code: statusCode },
      paused_until: pausedUntil === null ? null : new Date(pausedUntil).toISOString(),
      ...{ delivery_id: deliveryId, location, occurred_at: new Date(now).toISOString() },
    };
    this.#options
      .announce({ tenantId, eventType: "posthorn.webhook.attention", data })
      .catch((error: unknown) => {
        telemetry.log.error({ err: String(error), webhookId }, "the owner could not be told");
      });
  }

  #remember(name: string, now: number): void {
    if (this.#reportedAt.size >= reportsMax) this.#reportedAt.clear();
    this.#reportedAt.set(name, now);
  }
}

const logLevels = { warn: "warn", notify: "warn", escalate: "error" } as const satisfies Record<
  Attention,
  string
>;
const repeatMs = 3_600_000;
/** Bounds the memory of what was reported; forgetting only means to report again. */
const reportsMax = 10_000;
