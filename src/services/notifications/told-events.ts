import type { Wording } from "../../core/notifications/messages.ts";
import type { MessageName } from "../../core/notifications/messages-en.ts";
import type {
  NotificationContent,
  NotificationLanguage,
  NotificationSeverity,
  NotificationTopic,
} from "../../core/notifications/notification.ts";
import type { OperationalEvent, OperationalEventType } from "../../core/notifications/operational-event.ts";
import type { NotificationDraft } from "./notification-desk.ts";

interface Told {
  readonly topic: NotificationTopic;
  /** Prefix of the texts `{name}.subject` and `{name}.text`. */
  readonly name: string;
  readonly severity: NotificationSeverity;
  readonly resolves?: true;
}

/** Operational events that cause notifications, apart from those about failing webhooks (failure-ladder.ts). */
const toldTypes: Readonly<Partial<Record<OperationalEventType, Told>>> = {
  "posthorn.webhook.circuit_opened": { topic: "circuit", name: "circuit_opened", severity: "warning" },
  "posthorn.webhook.circuit_closed": {
    topic: "circuit",
    name: "circuit_closed",
    severity: "info",
    resolves: true,
  },
  "posthorn.webhook.attention": { topic: "attention", name: "attention", severity: "warning" },
  "posthorn.webhook.exhausted": { topic: "exhausted", name: "exhausted", severity: "warning" },
  "posthorn.webhook.secret_rotated": { topic: "secret_rotated", name: "secret_rotated", severity: "info" },
  "posthorn.webhook.paused": { topic: "paused", name: "paused", severity: "info" },
  "posthorn.webhook.resumed": { topic: "paused", name: "resumed", severity: "info", resolves: true },
  "posthorn.problem.opened": { topic: "problem", name: "problem_opened", severity: "warning" },
  "posthorn.problem.resolved": {
    topic: "problem",
    name: "problem_resolved",
    severity: "info",
    resolves: true,
  },
  "posthorn.tenant.limit_reached": { topic: "limit_reached", name: "limit_reached", severity: "warning" },
};

/** Notifications about an event, for its tenant and for the operator. */
export function draftsAbout(event: OperationalEvent, wording: Wording): readonly NotificationDraft[] {
  const told = toldTypes[event.type];
  if (told === undefined || event.onlyForOperator === true) return [];
  const { key, webhookId } = event;
  const { problem_id: problemId } = event.data;
  const subject = typeof problemId === "string" ? problemId : (webhookId ?? event.tenantId);
  const draftFor = (tenantId: string | null): NotificationDraft => ({
    key,
    tenantId,
    topic: told.topic,
    webhookId,
    group: `${told.topic}:${subject}`,
    content: (language) => contentOf(event, told, language, wording),
  });
  return [draftFor(event.tenantId), draftFor(null)];
}

function contentOf(
  { data, tenantId }: OperationalEvent,
  told: Told,
  language: NotificationLanguage,
  wording: Wording,
): NotificationContent {
  const values = {
    ...Object.fromEntries(Object.entries(data).map(([name, value]) => [name, spoken(value)])),
    reason: spoken(data["reason"] ?? data["status_code"] ?? data["error_code"] ?? data["category"]),
  };
  const say = (name: string) => wording.say(language, name as MessageName, values);
  const url = data["url"];
  return {
    subject: say(`${told.name}.subject`),
    text: say(`${told.name}.text`),
    facts: [
      ...(typeof url === "string" ? [{ label: wording.say(language, "label.webhook"), value: url }] : []),
      { label: wording.say(language, "label.tenant"), value: tenantId },
    ],
    severity: told.severity,
    link: null,
    resolves: told.resolves === true,
  };
}

function spoken(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "-";
}
