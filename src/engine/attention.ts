import type { Attention, Verdict } from "../core/outcome.ts";
import type { Clock } from "../ports/clock.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { SystemEvent } from "./engine-access.ts";
import type { Endpoint } from "./endpoint.ts";

export interface AttentionDeskOptions {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly announce: (event: Omit<SystemEvent, "onlyWebhookId">) => Promise<void>;
}

/** An attempt that somebody must hear of. */
export interface NotableAttempt {
  readonly deliveryId: string;
  readonly verdict: Verdict;
  readonly statusCode: number | null;
  /** Where a redirect pointed; shown to the owner, never followed (C-9). */
  readonly location: string | null;
}

/**
 * Tells people what their profile says they must hear: `warn` is a log line for investigation (TS16-95), `notify` tells
 * the owner by a system event (TS16-93, TS16-98), `escalate` tells the operator as well (EDS-9.2.3-14). An endpoint that
 * fails the same way a thousand times is reported once an hour.
 */
export class AttentionDesk {
  readonly #options: AttentionDeskOptions;
  /** When `webhook reason` was last reported; as many as there are failing webhooks. */
  readonly #reportedAt = new Map<string, number>();

  constructor(options: AttentionDeskOptions) {
    this.#options = options;
  }

  report(endpoint: Endpoint, attempt: NotableAttempt): void {
    const { attention, reason } = attempt.verdict;
    if (attention === undefined) return;
    const { clock, telemetry } = this.#options;
    const now = clock.now();
    const name = `${endpoint.webhook.id} ${reason}`;
    const last = this.#reportedAt.get(name);
    if (last !== undefined && Math.abs(now - last) < repeatMs) return;
    this.#remember(name, now);
    const { id: webhookId, tenantId } = endpoint.webhook;
    const { deliveryId, statusCode, location } = attempt;
    telemetry.log[logLevels[attention]](
      { webhookId, tenantId, deliveryId, reason, statusCode, attention },
      "an answer needs attention",
    );
    if (attention === "warn") return;
    const data = {
      ...{ webhook_id: webhookId, level: attention, reason, status_code: statusCode },
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
