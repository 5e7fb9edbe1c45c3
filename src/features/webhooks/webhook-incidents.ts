import { PosthornError } from "../../domain/errors.ts";
import { createBucket, type RateBucket, tryTake } from "../../domain/rate-limit.ts";
import { bucketAt } from "../../domain/statistics/facts.ts";
import { pauseAt, type Webhook } from "../../domain/webhook.ts";
import type { LiveWebhook } from "../../engine/endpoint/endpoint-config.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import type { StoredSecret } from "../../ports/store/webhooks.ts";
import { incidentFields } from "../../resources/actions.ts";
import { validFields } from "../input.ts";
import {
  instant,
  type OperationalEvent,
  type OperationalEventType,
  shownUrl,
  webhookEvent,
  webhookUrlShown,
} from "../notifications/operational-event.ts";
import type {
  FeatureContext,
  ReportIncidentCommand,
  StatisticsService,
  WebhookBacklogView,
} from "../services.ts";

/** Counting stops at this number, because a higher count makes no practical difference. */
const countMax = 10_000;
/** Period over which the rate of a webhook is measured. */
const paceSpanMs = 300_000;

/**
 * The backlog of a webhook, and the time to drain it at the rate of the last five minutes if no new deliveries are
 * added.
 */
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

/** The time to drain a backlog at the given rate; null if unknown. */
function drainMsOf(total: number, perSecond: number): number | null {
  if (total === 0) return 0;
  return perSecond === 0 ? null : Math.ceil((total / perSecond) * 1_000);
}

const incidentEventType = "posthorn.webhook.incident_reported";
/** During an attack, a receiver gets many forged messages in succession; a few reports are enough. */
const reportsAllowed = { requestsPerMinute: 6, burst: 10 };
const bucketsMax = 10_000;

/**
 * Security incidents reported by receivers (TS16-81): a warning in the log and an operational event for the owner. The
 * receiver's own wording is only in the event, because its content is not under our control.
 */
export class WebhookIncidents {
  readonly #context: FeatureContext;
  readonly #buckets = new Map<string, RateBucket>();

  constructor(context: FeatureContext) {
    this.#context = context;
  }

  async report(live: LiveWebhook, command: ReportIncidentCommand): Promise<{ readonly eventId: string }> {
    validFields(incidentFields, command, "the report");
    const now = this.#context.clock.now();
    this.#limit(live.webhook.id, now);
    const { id, tenantId } = live.webhook;
    const { kind, detail, messageId = null, occurredAt = null } = command;
    const fields = { webhookId: id, tenantId, kind, messageId };
    this.#context.telemetry.log.warn(fields, "a receiver reported a security incident");
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
    const published = await this.#context.access.publishSystemEvent({
      tenantId,
      eventType: incidentEventType,
      data,
      onlyWebhookId: null,
    });
    await this.#tellOperator(live.webhook, published.eventId, data);
    return published;
  }

  /**
   * Publishes only to the operator: the tenant's webhooks already receive the event, under the id that was returned to
   * the receiver.
   */
  async #tellOperator(
    webhook: Webhook,
    eventId: string,
    data: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const { store, access, clock } = this.#context;
    const told = { type: incidentEventType, of: eventId, at: clock.now() } as const;
    const event = { ...webhookEvent(webhook, told), data, onlyForOperator: true } as const;
    await store.notifications.appendEvents([event]);
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

/** A webhook with its keys, before or after a change. */
interface Version {
  readonly webhook: Webhook;
  readonly secrets: readonly StoredSecret[];
}

type News = readonly [
  type: OperationalEventType,
  of: number | string,
  data?: Readonly<Record<string, unknown>>,
];

/** The operational events of a change, regardless of its author. */
export function eventsOfChange(before: Version | null, after: Version): readonly OperationalEvent[] {
  const { webhook } = after;
  const at = webhook.updatedAt;
  const news = before === null ? [createdNews(webhook)] : newsOfChange(before, after);
  return news.map(([type, of, data = {}]) => webhookEvent(webhook, { type, of, at, data }));
}

export function deletedEvent(webhook: Webhook, at: number): OperationalEvent {
  return webhookEvent(webhook, { type: "posthorn.webhook.deleted", of: "", at });
}

function createdNews({ events, profile, status }: Webhook): News {
  return ["posthorn.webhook.created", "", { event_types: events, profile, status }];
}

function newsOfChange(before: Version, after: Version): readonly News[] {
  const { webhook } = after;
  return [
    ...statusNews(before.webhook, webhook),
    ...pauseNews(before.webhook, webhook),
    ...configurationNews(before, after),
  ];
}

function statusNews(
  before: Webhook,
  { status, statusReason, statusChangedAt: at }: Webhook,
): readonly News[] {
  if (before.status === status) return [];
  if (status === "active") return [["posthorn.webhook.enabled", at, { was: before.status }]];
  if (status !== "disabled") return [];
  return [["posthorn.webhook.disabled", at, { status, reason: statusReason, since: instant(at) }]];
}

function pauseNews(before: Webhook, after: Webhook): readonly News[] {
  const { pause, updatedAt } = after;
  if (JSON.stringify(before.pause) === JSON.stringify(pause)) return [];
  if (pause === null)
    return pauseAt(before, updatedAt) === null ? [] : [["posthorn.webhook.resumed", updatedAt]];
  const until = pause.until === null ? null : instant(pause.until);
  return [["posthorn.webhook.paused", updatedAt, { until, reason: pause.reason }]];
}

/** A change that affects only the signing keys is reported as a rotation. */
function configurationNews(before: Version, after: Version): readonly News[] {
  const { revision } = after.webhook;
  if (revision === before.webhook.revision) return [];
  if (signingKeysOf(before) === signingKeysOf(after))
    return [["posthorn.webhook.updated", revision, { revision }]];
  const overlap = after.secrets.find(({ expiresAt }) => expiresAt !== null)?.expiresAt ?? null;
  const data = { old_secret_until: overlap === null ? null : instant(overlap) };
  return [["posthorn.webhook.secret_rotated", revision, data]];
}

function signingKeysOf({ secrets }: Version): string {
  const keys = secrets.filter(({ kind }) => kind === "symmetric" || kind === "ed25519");
  return JSON.stringify(keys.map(({ kind, digest }) => `${kind} ${digest}`).toSorted());
}
