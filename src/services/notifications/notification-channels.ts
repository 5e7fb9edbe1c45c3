import type { UrlRules } from "../../core/egress/url-policy.ts";
import { NotFoundError } from "../../core/errors.ts";
import type { rotateFields } from "../../core/fields/actions.ts";
import type { InputOf } from "../../core/fields/field.ts";
import type { ChannelInput } from "../../core/fields/notification-channel.ts";
import type { Wording } from "../../core/notifications/messages.ts";
import {
  type ChannelKind,
  channelKinds,
  freshStatus,
  type NotificationChannel,
  type NotificationState,
} from "../../core/notifications/notification.ts";
import { operatorTenantId } from "../../core/notifications/operational-event.ts";
import type { Clock } from "../../ports/clock.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { Page, PageRequest } from "../../ports/store.ts";
import type {
  NotificationQueue,
  StoredChannel,
  StoredNotification,
} from "../../ports/store/notifications.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import { ProblemList } from "../problem-list.ts";
import { requireWholeTenant } from "../scope.ts";
import type { Scope, TenantService, WebhookSecretView, WebhookService } from "../services.ts";
import type { NotificationDesk } from "./notification-desk.ts";
import { channelSettings, readChannels } from "./channel-input.ts";
import { carriedType, testTopic } from "./notification-sender.ts";
import { pagerUrl } from "./pager.ts";
import type { UnsubscribeLinks } from "./unsubscribe-links.ts";

export interface NotificationChannelsOptions {
  readonly queue: NotificationQueue;
  readonly webhooks: Pick<WebhookService, "get" | "create" | "update" | "enable" | "delete" | "rotateSecret">;
  readonly tenants: Pick<TenantService, "get" | "put">;
  readonly desk: NotificationDesk;
  readonly wording: Wording;
  readonly links: UnsubscribeLinks;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly nextId: () => string;
  readonly urlRules: UrlRules;
  /** False where no mail server is set. */
  readonly sendsMail: boolean;
}

/** Null is the operator. */
export type ChannelOwner = string | null;

export interface NotificationListQuery {
  /** Undefined are all, for administrators. */
  readonly owner: ChannelOwner | undefined;
  readonly channelId: string | null;
  readonly state: NotificationState | null;
  readonly page: PageRequest;
}

/** `secret` is what the requests of a new channel of the kind `webhook` are signed with; it is told once. */
export interface SavedChannel extends StoredChannel {
  readonly secret: string | null;
}

type RotateChannelSecret = InputOf<typeof rotateFields> & {
  readonly owner: ChannelOwner;
  readonly id: string;
};

interface Carrier {
  readonly webhookId: string | null;
  /** Null where it was there before. */
  readonly secret: string | null;
}

const operator: Scope = { tenantId: null };

/** Where people are told: channels of the operator and of each tenant, a test of each, and what was sent. */
export class NotificationChannels {
  readonly #options: NotificationChannelsOptions;
  readonly #changes = new KeyedQueue();

  constructor(options: NotificationChannelsOptions) {
    this.#options = options;
  }

  /** Those that can be sent to; mail takes a mail server. */
  get kinds(): readonly ChannelKind[] {
    return channelKinds.filter((kind) => kind !== "email" || this.#options.sendsMail);
  }

  async list(scope: Scope, owner: ChannelOwner): Promise<readonly StoredChannel[]> {
    await this.#requireOwner(scope, owner);
    const all = await this.#options.queue.channels();
    return all.filter(({ channel }) => channel.tenantId === owner);
  }

  /** Replaces all of an owner; rejects before anything is changed where one of them is not valid. */
  async put(
    scope: Scope,
    command: { readonly owner: ChannelOwner; readonly channels: readonly ChannelInput[] },
  ): Promise<readonly SavedChannel[]> {
    const { owner } = command;
    await this.#requireOwner(scope, owner);
    return this.#changes.run(owner ?? "", async () => {
      const before = await this.list(scope, owner);
      const inputs = readChannels(command.channels, { before, rules: this.#options });
      await this.#requireWebhooks(owner, { inputs, before });
      const channels: NotificationChannel[] = [];
      const secrets = new Map<string, string | null>();
      for (const input of inputs) {
        const { channel, secret } = await this.#channel(owner, input, before);
        channels.push(channel);
        if (channel.kind === "webhook") secrets.set(channel.id, secret);
      }
      const audit = scope.audit?.take({ id: owner ?? "operator", tenantId: owner });
      await this.#options.queue.saveChannels({ tenantId: owner, channels }, audit);
      await this.#reopen(channels, before);
      const kept = new Set(channels.map(({ webhookId }) => webhookId));
      for (const { channel } of before)
        if (channel.webhookId !== null && !kept.has(channel.webhookId))
          await this.#removeCarrier(channel.webhookId);
      const saved = await this.list(scope, owner);
      return saved.map(({ channel, status }) => ({
        channel,
        status,
        secret: secrets.get(channel.id) ?? null,
      }));
    });
  }

  /** Replaces what the requests of a channel of the kind `webhook` are signed with, as of any webhook. */
  async rotateSecret(
    scope: Scope,
    { owner, id, ...command }: RotateChannelSecret,
  ): Promise<WebhookSecretView> {
    const stored = (await this.list(scope, owner)).find(({ channel }) => channel.id === id);
    const { kind, webhookId } = stored?.channel ?? {};
    if (kind !== "webhook" || webhookId === null || webhookId === undefined)
      throw new NotFoundError("the channel with a signing secret");
    const audit = scope.audit === undefined ? {} : { audit: scope.audit };
    return this.#options.webhooks.rotateSecret({ ...operator, ...audit }, { ...command, id: webhookId });
  }

  /** Sends a message at once; also starts again what was refused or stopped. */
  async test(
    scope: Scope,
    { owner, id }: { readonly owner: ChannelOwner; readonly id: string },
  ): Promise<{ readonly notificationId: string }> {
    const stored = (await this.list(scope, owner)).find(({ channel }) => channel.id === id);
    if (stored === undefined) throw new NotFoundError("the channel");
    const { queue, clock, nextId, wording } = this.#options;
    const { status, channel } = stored;
    await queue.saveStatus({ channelId: id, status: { ...status, refusedAt: null, unsubscribedAt: null } });
    const [notificationId, now] = [nextId(), clock.now()];
    await queue.enqueue([
      {
        ...{ id: notificationId, key: `test:${notificationId}`, channelId: id, tenantId: owner },
        ...{ topic: testTopic, group: `test:${id}`, createdAt: now, dueAt: now },
        content: {
          subject: wording.say(channel.language, "test.subject"),
          text: wording.say(channel.language, "test.text"),
          ...{ facts: [], severity: "info", link: null, resolves: true },
        },
      },
    ]);
    return { notificationId };
  }

  /** What was queued, newest first. */
  async sent(scope: Scope, query: NotificationListQuery): Promise<Page<StoredNotification>> {
    const { owner, channelId, state, page } = query;
    requireWholeTenant(scope);
    const tenantId = scope.tenantId ?? owner;
    return this.#options.queue.list({ tenantId, channelId, state, page });
  }

  /** Whose address a link is for; null for a link that is not ours, or of a channel that is gone. */
  async linked(token: string): Promise<NotificationChannel | null> {
    const { queue, links } = this.#options;
    const channelId = links.channelOf(token);
    if (channelId === null) return null;
    return (await queue.channels()).find(({ channel }) => channel.id === channelId)?.channel ?? null;
  }

  /** Ends messages to the address that a link is for. */
  async unsubscribe(token: string): Promise<NotificationChannel | null> {
    const channel = await this.linked(token);
    if (channel === null) return null;
    const { queue, clock } = this.#options;
    const stored = (await queue.channels()).find((each) => each.channel.id === channel.id);
    const status = { ...(stored?.status ?? freshStatus), unsubscribedAt: clock.now() };
    await queue.saveStatus({ channelId: channel.id, status });
    return channel;
  }

  // ---- inside -------------------------------------------------------------------------------------------------

  async #requireOwner(scope: Scope, owner: ChannelOwner): Promise<void> {
    if (owner !== null) await this.#options.tenants.get(scope, owner);
    else if (scope.tenantId !== null) throw new NotFoundError("the channel");
    requireWholeTenant(scope);
  }

  /** Those that a channel had already may be gone by now; new ones are the owner's. */
  async #requireWebhooks(
    owner: ChannelOwner,
    set: { readonly inputs: readonly ChannelInput[]; readonly before: readonly StoredChannel[] },
  ): Promise<void> {
    const problems = new ProblemList();
    for (const [index, { id, webhookIds }] of set.inputs.entries()) {
      const had = set.before.find(({ channel }) => channel.id === id)?.channel.webhookIds ?? [];
      for (const webhookId of (webhookIds ?? []).filter((each) => !had.includes(each)))
        if (!(await this.#hasWebhook(owner, webhookId)))
          problems.add({
            field: `channels[${index}].webhook_ids`,
            message: "names no webhook of this owner",
          });
    }
    problems.throwIfAny("the set of channels");
  }

  async #hasWebhook(owner: ChannelOwner, id: string): Promise<boolean> {
    try {
      await this.#options.webhooks.get({ tenantId: owner }, id);
      return true;
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      return false;
    }
  }

  async #channel(
    owner: ChannelOwner,
    input: ChannelInput,
    before: readonly StoredChannel[],
  ): Promise<{ readonly channel: NotificationChannel; readonly secret: string | null }> {
    const { nextId, clock } = this.#options;
    const known = before.find(({ channel }) => channel.id === input.id)?.channel;
    const id = known?.id ?? nextId();
    const { kind } = input;
    const now = clock.now();
    const isCarried = kind !== "email" && kind !== "pagerduty";
    const url = kind === "pagerduty" ? pagerUrl.href : input.url;
    const { webhookId, secret }: Carrier = isCarried
      ? await this.#carrier(known?.webhookId ?? null, url)
      : { webhookId: null, secret: null };
    const channel = {
      ...{ id, tenantId: owner, kind, webhookId },
      ...channelSettings(input),
      address: input.address ?? (url === undefined ? (known?.address ?? "") : new URL(url).host),
      sealedKey: this.#sealed(id, input.integrationKey) ?? known?.sealedKey ?? null,
      ...{ createdAt: known?.createdAt ?? now, updatedAt: now },
    };
    return { channel, secret };
  }

  #sealed(channelId: string, key: string | undefined): string | null {
    if (key === undefined) return null;
    const sealed = this.#options.secretBox.seal({ plaintext: key, context: channelId });
    return Buffer.from(sealed).toString("base64");
  }

  /** The webhook of a channel, made or changed; judged as the URL of any webhook. */
  async #carrier(known: string | null, url: string | undefined): Promise<Carrier> {
    const { webhooks, tenants } = this.#options;
    if (known !== null) {
      try {
        if (url !== undefined) await webhooks.update(operator, { id: known, input: { url } });
        await webhooks.enable(operator, known);
        return { webhookId: known, secret: null };
      } catch (error) {
        if (!(error instanceof NotFoundError)) throw error;
      }
    }
    await tenants
      .get(operator, operatorTenantId)
      .catch(() => tenants.put(operator, { id: operatorTenantId, input: { name: "Operator" } }));
    const { view, secret } = await webhooks.create(operator, {
      ...{ url: url ?? "", tenantId: operatorTenantId, events: [carriedType] },
      description: "carries messages of a notification channel",
    });
    return { webhookId: view.webhook.id, secret };
  }

  async #removeCarrier(webhookId: string): Promise<void> {
    try {
      await this.#options.webhooks.delete(operator, webhookId);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }

  /** Who saves an address again wants it tried again. */
  async #reopen(channels: readonly NotificationChannel[], before: readonly StoredChannel[]): Promise<void> {
    for (const { channel, status } of before) {
      const saved = channels.find(({ id }) => id === channel.id);
      if (saved === undefined || status.refusedAt === null) continue;
      await this.#options.queue.saveStatus({ channelId: saved.id, status: { ...status, refusedAt: null } });
    }
  }
}
