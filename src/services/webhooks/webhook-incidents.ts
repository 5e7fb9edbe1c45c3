import { PosthornError } from "../../core/errors.ts";
import { incidentFields } from "../../core/fields/actions.ts";
import {
  instant,
  shownUrl,
  webhookEvent,
  webhookUrlShown,
} from "../../core/notifications/operational-event.ts";
import { createBucket, type RateBucket, tryTake } from "../../core/rate-limit.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Webhook } from "../../core/webhook.ts";
import type { Store } from "../../ports/store.ts";
import type { Logger } from "../../ports/telemetry.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { LiveWebhook } from "../../engine/endpoint/live-webhook.ts";
import type { ReportIncidentCommand } from "../services.ts";
import { ProblemList } from "../problem-list.ts";
import { readFields } from "../read-fields.ts";

export interface WebhookIncidentsOptions {
  readonly access: Pick<EngineAccess, "publishSystemEvent" | "relay">;
  readonly store: Pick<Store, "notifications">;
  readonly clock: Clock;
  readonly log: Logger;
}

const incidentEventType = "posthorn.webhook.incident_reported";
/** A receiver under attack sees one forged message after another; a few reports suffice. */
const reportsAllowed = { requestsPerMinute: 6, burst: 10 };
const bucketsMax = 10_000;

/**
 * Security incidents reported by receivers (TS16-81): a warning in the log and an operational event for the owner. The
 * receiver's own words are only in the event, because their content is unknown.
 */
export class WebhookIncidents {
  readonly #options: WebhookIncidentsOptions;
  readonly #buckets = new Map<string, RateBucket>();

  constructor(options: WebhookIncidentsOptions) {
    this.#options = options;
  }

  async report(live: LiveWebhook, command: ReportIncidentCommand): Promise<{ readonly eventId: string }> {
    const problems = new ProblemList();
    readFields(incidentFields, command, problems);
    problems.throwIfAny("the report");
    const now = this.#options.clock.now();
    this.#limit(live.webhook.id, now);
    const { id, tenantId } = live.webhook;
    const { kind, detail, messageId = null, occurredAt = null } = command;
    const fields = { webhookId: id, tenantId, kind, messageId };
    this.#options.log.warn(fields, "a receiver reported a security incident");
    const data = {
      webhook_id: id,
      tenant_id: tenantId,
      url: shownUrl(webhookUrlShown(live.webhook)),
      kind,
      detail,
      message_id: messageId,
      occurred_at: occurredAt === null ? null : instant(occurredAt),
      reported_at: instant(now),
    };
    const published = await this.#options.access.publishSystemEvent({
      tenantId,
      eventType: incidentEventType,
      data,
      onlyWebhookId: null,
    });
    await this.#tellOperator(live.webhook, published.eventId, data);
    return published;
  }

  /** The tenant's webhooks already receive it, under the id that was returned to the receiver. */
  async #tellOperator(
    webhook: Webhook,
    eventId: string,
    data: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const { store, access, clock } = this.#options;
    const told = { type: incidentEventType, of: eventId, at: clock.now() } as const;
    const event = { ...webhookEvent(webhook, told), data, onlyForOperator: true } as const;
    await store.notifications?.appendEvents([event]);
    access.relay.stored();
  }

  #limit(webhookId: string, now: number): void {
    let bucket = this.#buckets.get(webhookId);
    if (bucket === undefined) {
      if (this.#buckets.size >= bucketsMax) this.#buckets.clear();
      bucket = createBucket(reportsAllowed);
      this.#buckets.set(webhookId, bucket);
    }
    const waitMs = tryTake(bucket, now);
    if (waitMs === 0) return;
    throw new PosthornError(
      "rate_limited",
      "too many reports for this webhook; the earlier ones are recorded",
      {
        retryAfterSeconds: Math.ceil(waitMs / 1_000),
      },
    );
  }
}
