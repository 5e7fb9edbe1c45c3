import {
  instant,
  type OperationalEvent,
  type OperationalEventType,
  webhookEvent,
} from "../notifications/operational-event.ts";
import { pauseAt, type Webhook } from "../../domain/webhook.ts";
import type { StoredSecret } from "../../ports/store/webhooks.ts";

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

/** A change of only the signing keys is a rotation. */
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
