import { matches } from "../../domain/event-type.ts";
import type { Webhook } from "../../domain/webhook.ts";

/** Types of the events that Posthorn publishes about itself; described in operational-event-catalogue.ts. */
export const operationalEventTypes = [
  "posthorn.webhook.created",
  "posthorn.webhook.updated",
  "posthorn.webhook.deleted",
  "posthorn.webhook.enabled",
  "posthorn.webhook.suspended",
  "posthorn.webhook.disabled",
  "posthorn.webhook.failing",
  "posthorn.webhook.recovered",
  "posthorn.webhook.circuit_opened",
  "posthorn.webhook.circuit_closed",
  "posthorn.webhook.exhausted",
  "posthorn.webhook.attention",
  "posthorn.webhook.paused",
  "posthorn.webhook.resumed",
  "posthorn.webhook.secret_rotated",
  "posthorn.webhook.moved",
  "posthorn.webhook.incident_reported",
  "posthorn.problem.opened",
  "posthorn.problem.resolved",
  "posthorn.tenant.limit_reached",
  "posthorn.alert.fired",
  "posthorn.alert.resolved",
] as const;
export type OperationalEventType = (typeof operationalEventTypes)[number];

/** An event that Posthorn publishes about itself. `at` is in Unix milliseconds. */
export interface OperationalEvent {
  /** Deduplication key: only one event is published per key. */
  readonly key: string;
  readonly type: OperationalEventType;
  readonly tenantId: string;
  /** Null if the event is about the tenant. */
  readonly webhookId: string | null;
  readonly at: number;
  /** As published, with field names of the API. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Published only to the operator, because the tenant's own webhooks already have the event. */
  readonly onlyForOperator?: true;
}

/**
 * Id of the operator's tenant. Its webhooks receive the operational events of every tenant and deliver messages to chat
 * channels. Administrators create this tenant.
 */
export const operatorTenantId = "posthorn-operator";

/** An event about a webhook; `of` distinguishes it from other events of its type. */
export function webhookEvent(
  webhook: Pick<Webhook, "id" | "tenantId" | "url" | "events">,
  told: {
    readonly type: OperationalEventType;
    readonly of: number | string;
    readonly at: number;
    readonly data?: Readonly<Record<string, unknown>>;
  },
): OperationalEvent {
  const { id, tenantId } = webhook;
  const { type, at } = told;
  return {
    key: `${type}:${id}:${told.of}`,
    type,
    tenantId,
    webhookId: id,
    at,
    data: {
      webhook_id: id,
      tenant_id: tenantId,
      url: shownUrl(webhookUrlShown(webhook)),
      ...told.data,
      occurred_at: instant(at),
    },
  };
}

/** Identifies a clock hour, for events that are published once per hour. */
export function hourOf(at: number): string {
  return new Date(at).toISOString().slice(0, "2026-01-01T00".length);
}

/** A time in the format of the API. */
export function instant(at: number): string {
  return new Date(at).toISOString();
}

/** The URL without parts that may be secret. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** Event types that any request to an endpoint may trigger. */
const frequent: ReadonlySet<OperationalEventType> = new Set([
  "posthorn.webhook.circuit_opened",
  "posthorn.webhook.circuit_closed",
  "posthorn.webhook.exhausted",
  "posthorn.webhook.attention",
  "posthorn.problem.opened",
  "posthorn.problem.resolved",
]);

/**
 * Whether a subscribed webhook receives an event. A webhook never receives events about itself, because it would be
 * notified about the failure of that same message. If two webhooks of a tenant receive each other's events, neither
 * receives types that any request may trigger, so that two broken webhooks do not trigger each other.
 */
export function mayHear(listener: Webhook, event: OperationalEvent, about: Webhook | null): boolean {
  if (listener.id === event.webhookId) return false;
  if (!frequent.has(event.type) || about === null || about.tenantId !== listener.tenantId) return true;
  return !operationalEventTypes.some((type) => about.events.some((pattern) => matches(pattern, type)));
}

/** The type of the events that deliver messages to notification channels. */
export const carriedType = "posthorn.notification";

/**
 * The URL of a webhook as the API and the history show it. Chat services use the path as a password, so only the host
 * is shown for webhooks that belong to a notification channel.
 */
export function webhookUrlShown({
  tenantId,
  events,
  url,
}: Pick<Webhook, "tenantId" | "events" | "url">): string {
  const isCarrier = tenantId === operatorTenantId && events.length === 1 && events[0] === carriedType;
  if (!isCarrier) return url;
  return URL.canParse(url) ? `${new URL(url).origin}/…` : "…";
}
