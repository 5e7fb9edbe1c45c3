import type { UrlRules } from "../../domain/egress/url-policy.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Mailer } from "../../ports/mailer.ts";
import type { Random } from "../../ports/random.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { Store } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { TenantService, WebhookService } from "../services.ts";
import { AddressLinks } from "./channel-input.ts";
import { FailureLadder, LadderMessages } from "./failure-ladder.ts";
import { type MessageName, type MessageOverrides, Wording } from "./messages.ts";
import { NotificationChannels } from "./notification-channels.ts";
import {
  draftsFor,
  NotificationDesk,
  type NotificationDraft,
  Pager,
  type PagerOptions,
} from "./notification-desk.ts";
import { NotificationSender } from "./notification-sender.ts";
import type {
  NotificationContent,
  NotificationLanguage,
  NotificationSeverity,
  NotificationTopic,
} from "./notification.ts";
import type { OperationalEvent, OperationalEventType } from "./operational-event.ts";

interface Told {
  readonly topic: NotificationTopic;
  /** Prefix of the message names `{name}.subject` and `{name}.text`. */
  readonly name: string;
  readonly severity: NotificationSeverity;
  readonly resolves?: true;
}

/** Operational events that cause notifications, except events about failing webhooks (failure-ladder.ts). */
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

/** Drafts the notifications about an event, for its tenant and for the operator. */
function draftsAbout(event: OperationalEvent, wording: Wording): readonly NotificationDraft[] {
  const told = toldTypes[event.type];
  if (told === undefined || event.onlyForOperator === true) return [];
  const { key, webhookId } = event;
  const { problem_id: problemId } = event.data;
  const subject = typeof problemId === "string" ? problemId : (webhookId ?? event.tenantId);
  return draftsFor(event.tenantId, {
    key,
    topic: told.topic,
    webhookId,
    group: `${told.topic}:${subject}`,
    content: (language) => contentOf(event, told, language, wording),
  });
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

/** Configuration of notifications. */
export interface NotificationMeans {
  /** Null if no mail server is configured. */
  readonly mailer: Mailer | null;
  readonly overrides: MessageOverrides;
  /** URL template of a webhook's page, with `{webhook_id}` and `{tenant_id}`; null if there is no such page. */
  readonly linkTemplate: string | null;
  /** Base URL of links for recipients. A function if the URL is known only once the process listens. */
  readonly publicUrl: string | null | (() => string | null);
}

interface NotificationParts {
  readonly access: EngineAccess;
  readonly store: Store;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly webhooks: WebhookService;
  readonly tenants: TenantService;
  readonly means: NotificationMeans;
  readonly urlRules: UrlRules;
  /** Access to PagerDuty; verifications use the same transport. */
  readonly verification: PagerOptions;
  /** Whether this process sends notifications. */
  readonly schedules: boolean;
}

export interface NotificationServices {
  readonly desk: NotificationDesk;
  readonly notifications: NotificationChannels;
  readonly sender: NotificationSender;
  readonly ladder: FailureLadder;
  start(): void;
  stop(): Promise<void>;
}

export function createNotifications(parts: NotificationParts): NotificationServices {
  const { access, store, means, schedules, webhooks, tenants, ...common } = parts;
  const { notifications: queue, history } = store;
  const { secretBox } = common;
  const nextId = () => access.nextId();
  const wording = new Wording(means.overrides);
  const links = new AddressLinks(secretBox, asFunction(means.publicUrl));
  const desk = new NotificationDesk(queue, common.clock, nextId);
  const messages = new LadderMessages({ wording, history, linkTo: linkBy(means.linkTemplate) });
  const sender = new NotificationSender({
    ...common,
    queue,
    access,
    wording,
    links,
    mailer: means.mailer,
    pager: new Pager(parts.verification),
  });
  const ladder = new FailureLadder({
    ...common,
    queue,
    access,
    desk,
    messages,
    history,
    webhooks: store.webhooks,
  });
  access.relay.compose = async (events) => {
    const drafts = events.flatMap((event) => draftsAbout(event, wording));
    return drafts.length === 0 ? [] : desk.addressed(drafts, await queue.channels());
  };
  const notifications = new NotificationChannels({
    ...common,
    queue,
    webhooks,
    tenants,
    desk,
    wording,
    links,
    nextId,
    sendsMail: means.mailer !== null,
  });
  return {
    desk,
    notifications,
    sender,
    ladder,
    start() {
      if (!schedules) return;
      sender.start();
      ladder.start();
    },
    stop: async () => void (await Promise.all([sender.stop(), ladder.stop()])),
  };
}

function linkBy(template: string | null) {
  return ({ id, tenantId }: Pick<Webhook, "id" | "tenantId">): string | null =>
    template
      ?.replaceAll("{webhook_id}", encodeURIComponent(id))
      .replaceAll("{tenant_id}", encodeURIComponent(tenantId)) ?? null;
}

function asFunction<Value extends string | null>(value: Value | (() => Value)): () => Value {
  return typeof value === "function" ? value : () => value;
}
