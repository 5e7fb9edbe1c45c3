import { matches } from "../event-type.ts";
import type { Webhook } from "../webhook.ts";

/** Types of the events in which Posthorn tells of itself; described in operational-event-catalogue.ts. */
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

/** Something that happened in Posthorn itself. `at` in Unix milliseconds. */
export interface OperationalEvent {
  /** Names what happened, so that it is told once. */
  readonly key: string;
  readonly type: OperationalEventType;
  readonly tenantId: string;
  /** Null where it is about the tenant. */
  readonly webhookId: string | null;
  readonly at: number;
  /** As published, in the names of the API. */
  readonly data: Readonly<Record<string, unknown>>;
  /** The tenant's own webhooks have it already. */
  readonly onlyForOperator?: true;
}

/** Whose webhooks hear of every tenant; its webhooks carry messages to chat channels, too. Administrators make it. */
export const operatorTenantId = "posthorn-operator";

/** An event about a webhook; `of` tells it from others of its type. */
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
    ...{ key: `${type}:${id}:${told.of}`, type, tenantId, webhookId: id, at },
    data: {
      ...{ webhook_id: id, tenant_id: tenantId, url: shownUrl(webhookUrlShown(webhook)) },
      ...told.data,
      occurred_at: instant(at),
    },
  };
}

/** Names the hour, for what is told once in it. */
export function hourOf(at: number): string {
  return new Date(at).toISOString().slice(0, "2026-01-01T00".length);
}

/** As the API writes it. */
export function instant(at: number): string {
  return new Date(at).toISOString();
}

/** Without what may be secret in it. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** Each request of an endpoint may cause one of these. */
const frequent: ReadonlySet<OperationalEventType> = new Set([
  "posthorn.webhook.circuit_opened",
  "posthorn.webhook.circuit_closed",
  "posthorn.webhook.exhausted",
  "posthorn.webhook.attention",
  "posthorn.problem.opened",
  "posthorn.problem.resolved",
]);

/**
 * Whether a webhook that asked for the type hears of an event. None hears of itself: it would be told of the failure of
 * that very message. Of two of the same tenant that both hear of each other, neither hears of what each request may cause,
 * so that two broken ones do not feed each other.
 */
export function mayHear(
  listener: Webhook,
  { event, about }: { readonly event: OperationalEvent; readonly about: Webhook | null },
): boolean {
  if (listener.id === event.webhookId) return false;
  if (!frequent.has(event.type) || about === null || about.tenantId !== listener.tenantId) return true;
  return !operationalEventTypes.some((type) => about.events.some((pattern) => matches({ pattern, type })));
}

/** The type of the events that carry messages to notification channels. */
export const carriedType = "posthorn.notification";

/**
 * The URL of a webhook as API and history show it. Chat services take the path for a password, so only the host is shown of
 * a webhook that carries a notification channel.
 */
export function webhookUrlShown(webhook: {
  readonly tenantId: string;
  readonly events: readonly string[];
  readonly url: string;
}): string {
  const { tenantId, events, url } = webhook;
  const isCarrier = tenantId === operatorTenantId && events.length === 1 && events[0] === carriedType;
  if (!isCarrier) return url;
  return URL.canParse(url) ? `${new URL(url).origin}/…` : "…";
}
