import { PosthornError } from "../../domain/errors.ts";
import { createBucket, type RateBucket, tryTake } from "../../domain/rate-limit.ts";
import { bucketAt } from "../../domain/statistics/keys.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { LiveWebhook } from "../../engine/endpoint/live-webhook.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import type { Logger } from "../../ports/telemetry.ts";
import { incidentFields } from "../../resources/actions.ts";
import { ProblemList, readFields } from "../input.ts";
import { instant, shownUrl, webhookEvent, webhookUrlShown } from "../notifications/operational-event.ts";
import type { ReportIncidentCommand, StatisticsService, WebhookBacklogView } from "../services.ts";

/** Counting stops here: a higher number makes no practical difference. */
const countMax = 10_000;
/** Period over which the rate of a webhook is measured. */
const paceSpanMs = 300_000;

/** The backlog of a webhook, and the time to drain it at the rate of the last five minutes if nothing more arrives. */
export async function webhookBacklog(
  { webhook }: LiveWebhook,
  history: HistoryStore,
  statistics: Pick<StatisticsService, "acceptedSince">,
  clock: Clock,
): Promise<WebhookBacklogView> {
  const { id: webhookId } = webhook;
  const now = clock.now();
  const backlog = await history.backlog(webhookId, countMax);
  const since = bucketAt(now - paceSpanMs, "minute");
  const counted = await statistics.acceptedSince(webhookId, since);
  const accepted = counted ?? (await history.attemptStats(webhookId, since)).accepted;
  const { high, normal, low } = backlog.waiting;
  const total = high + normal + low;
  const perSecond = (accepted * 1_000) / (now - since);
  return {
    webhookId,
    ...backlog,
    total,
    perSecond,
    drainMs: drainMsOf(total, backlog.isMore ? 0 : perSecond),
  };
}

/** Null if unknown. */
function drainMsOf(total: number, perSecond: number): number | null {
  if (total === 0) return 0;
  return perSecond === 0 ? null : Math.ceil((total / perSecond) * 1_000);
}

interface WebhookIncidentsOptions {
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
