import type { UrlRules } from "../../core/egress/url-policy.ts";
import { Wording } from "../../core/notifications/messages.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Mailer } from "../../ports/mailer.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { Store } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { MessageOverrides } from "../../core/notifications/messages.ts";
import type { TenantService, WebhookService } from "../services.ts";
import { AddressLinks } from "./address-links.ts";
import { FailureLadder } from "./failure-ladder.ts";
import { LadderMessages } from "./ladder-messages.ts";
import { NotificationChannels } from "./notification-channels.ts";
import { NotificationDesk } from "./notification-desk.ts";
import { NotificationSender } from "./notification-sender.ts";
import { Pager, type PagerOptions } from "./pager.ts";
import { draftsAbout } from "./told-events.ts";

/** Configuration of notifications. */
export interface NotificationMeans {
  /** Null if no mail server is configured. */
  readonly mailer: Mailer | null;
  readonly overrides: MessageOverrides;
  /** URL template of a webhook's page, with `{webhook_id}` and `{tenant_id}`; null if there is none. */
  readonly linkTemplate: string | null;
  /** Base URL of links for readers. A function if it is known only once the process listens. */
  readonly publicUrl: string | null | (() => string | null);
}

export interface NotificationParts {
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
  /** How PagerDuty is reached; verifications use the same transport. */
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

/** Null if the store does not support notifications. */
export function createNotifications(parts: NotificationParts): NotificationServices | null {
  const { access, store, means, schedules, webhooks, tenants, ...common } = parts;
  const { notifications: queue, history } = store;
  if (queue === undefined) return null;
  const { secretBox } = common;
  const nextId = () => access.nextId();
  const wording = new Wording(means.overrides);
  const links = new AddressLinks(secretBox, asFunction(means.publicUrl));
  const desk = new NotificationDesk({ queue, clock: common.clock, nextId });
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
  return ({ id, tenantId }: { readonly id: string; readonly tenantId: string }): string | null =>
    template
      ?.replaceAll("{webhook_id}", encodeURIComponent(id))
      .replaceAll("{tenant_id}", encodeURIComponent(tenantId)) ?? null;
}

function asFunction<Value extends string | null>(value: Value | (() => Value)): () => Value {
  return typeof value === "function" ? value : () => value;
}
