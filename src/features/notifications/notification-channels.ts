import type { UrlRules } from "../../domain/egress/url-policy.ts";
import { NotFoundError, PosthornError } from "../../domain/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { Page, PageRequest } from "../../ports/store.ts";
import type {
  NotificationQueue,
  StoredAddress,
  StoredChannel,
  StoredNotification,
} from "../../ports/store/notifications.ts";
import type { rotateFields } from "../../resources/actions.ts";
import type { InputOf } from "../../resources/field.ts";
import { type ChannelInput, channelSettings } from "../../resources/notification.ts";
import { ProblemList, withDefaults } from "../input.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import { requireWholeTenant } from "../visibility.ts";
import type { Scope, TenantService, WebhookSecretView, WebhookService } from "../services.ts";
import { type AddressLinks, readChannels } from "./channel-input.ts";
import type { Wording } from "./messages.ts";
import { type NotificationDesk, pagerUrl } from "./notification-desk.ts";
import { confirmationTopic, hourOf, testTopic } from "./notification-sender.ts";
import {
  type AddressConsent,
  type ChannelKind,
  channelKinds,
  channelState,
  foldedAddress,
  mailboxOf,
  type NotificationChannel,
  type NotificationContent,
  type NotificationLanguage,
  type NotificationState,
} from "./notification.ts";
import { carriedType, operatorTenantId } from "./operational-event.ts";

export interface NotificationChannelsOptions {
  readonly queue: NotificationQueue;
  readonly webhooks: Pick<WebhookService, "get" | "create" | "update" | "enable" | "delete" | "rotateSecret">;
  readonly tenants: Pick<TenantService, "get" | "put">;
  readonly desk: NotificationDesk;
  readonly wording: Wording;
  readonly links: AddressLinks;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly nextId: () => string;
  readonly urlRules: UrlRules;
  /** False if no mail server is configured. */
  readonly sendsMail: boolean;
}

/** The owner of the rules; null for the operator. */
export type ChannelOwner = string | null;

export interface NotificationListQuery {
  /** Undefined selects the channels of all owners, which only administrators may request. */
  readonly owner: ChannelOwner | undefined;
  readonly channelId: string | null;
  readonly state: NotificationState | null;
  readonly page: PageRequest;
}

/** `secret` signs the requests of a new channel of the kind `webhook`; it is returned only once. */
export interface SavedChannel extends StoredChannel {
  readonly secret: string | null;
}

type RotateChannelSecret = InputOf<typeof rotateFields> & {
  readonly owner: ChannelOwner;
  readonly id: string;
};

/** The address to which a link in an email belongs. */
export interface LinkedAddress extends StoredAddress {
  readonly language: NotificationLanguage;
}

interface Carrier {
  readonly webhookId: string | null;
  /** Null if the channel existed before. */
  readonly secret: string | null;
}

const operator: Scope = { tenantId: null };

/** Manages the channels of the operator and of each tenant, sends test messages, and lists the notification log. */
export class NotificationChannels {
  /** The texts of messages, and of the pages that recipients open from an email. */
  readonly wording: Wording;
  readonly #options: NotificationChannelsOptions;
  readonly #changes = new KeyedQueue();

  constructor(options: NotificationChannelsOptions) {
    this.#options = options;
    this.wording = options.wording;
  }

  /**
   * The available kinds. Email requires a mail server; email to tenants also requires links that recipients can open.
   */
  kinds(owner: ChannelOwner): readonly ChannelKind[] {
    const { sendsMail, links } = this.#options;
    const hasMail = sendsMail && (owner === null || links.areReachable);
    return channelKinds.filter((kind) => kind !== "email" || hasMail);
  }

  get now(): number {
    return this.#options.clock.now();
  }

  async list(scope: Scope, owner: ChannelOwner): Promise<readonly StoredChannel[]> {
    await this.#requireOwner(scope, owner);
    const all = await this.#options.queue.channels();
    return all.filter(({ channel }) => channel.tenantId === owner);
  }

  /** Replaces all channels of an owner. Rejects without changes if one of the channels is invalid. */
  async put(
    scope: Scope,
    owner: ChannelOwner,
    given: readonly ChannelInput[],
  ): Promise<readonly SavedChannel[]> {
    await this.#requireOwner(scope, owner);
    return this.#changes.run(owner ?? "", async () => {
      const before = await this.list(scope, owner);
      const { urlRules, sendsMail, links } = this.#options;
      const canConfirm = owner === null || links.areReachable;
      const inputs = readChannels(given, before, { urlRules, sendsMail, canConfirm });
      await this.#requireWebhooks(owner, inputs, before);
      await this.#rememberAddresses(owner, inputs);
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
      await this.#askToConfirm(saved);
      return saved.map((stored) =>
        Object.assign({}, stored, { secret: secrets.get(stored.channel.id) ?? null }),
      );
    });
  }

  /** Rotates the signing secret of a channel of the kind `webhook`, as for any webhook. */
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

  /**
   * Sends a test message immediately, and reopens an address that the mail server refused. The recipient's own
   * decisions stay in effect.
   */
  async test(scope: Scope, owner: ChannelOwner, id: string): Promise<{ readonly notificationId: string }> {
    const stored = (await this.list(scope, owner)).find(({ channel }) => channel.id === id);
    if (stored === undefined) throw new NotFoundError("the channel");
    const { queue, clock, wording } = this.#options;
    const { status, channel } = stored;
    const now = clock.now();
    refuseTest(stored, now);
    await this.#countTest(channel, now);
    if (status.refusedAt !== null) await queue.saveStatus(id, { ...status, refusedAt: null });
    const notificationId = await this.#enqueue(channel, testTopic, {
      subject: wording.say(channel.language, "test.subject"),
      text: wording.say(channel.language, "test.text"),
      facts: [],
      severity: "info",
      link: null,
      resolves: true,
    });
    return { notificationId };
  }

  /** The log of notifications, newest first. */
  async sent(scope: Scope, query: NotificationListQuery): Promise<Page<StoredNotification>> {
    const { owner, channelId, state, page } = query;
    requireWholeTenant(scope);
    const tenantId = scope.tenantId ?? owner;
    return this.#options.queue.list({ tenantId, channelId, state, page });
  }

  /** The address to which a link belongs, and the language of its channel; null for an invalid link. */
  async linked(token: string): Promise<LinkedAddress | null> {
    const { queue, links } = this.#options;
    const addressId = links.addressOf(token);
    const stored = addressId === null ? null : await queue.address(addressId);
    if (stored === null) return null;
    const ofAddress = (await queue.channels()).find(({ consent }) => consent?.id === addressId);
    return { ...stored, language: ofAddress?.channel.language ?? "en" };
  }

  /** Unsubscribes, confirms or resubscribes an address on behalf of its recipient. */
  async decide(token: string, wanted: boolean): Promise<LinkedAddress | null> {
    const linked = await this.linked(token);
    if (linked === null) return null;
    const { queue, clock } = this.#options;
    await queue.saveConsent(linked.consent.id, clock.now(), wanted);
    return linked;
  }

  async #requireOwner(scope: Scope, owner: ChannelOwner): Promise<void> {
    if (owner !== null) await this.#options.tenants.get(scope, owner);
    else if (scope.tenantId !== null) throw new NotFoundError("the channel");
    requireWholeTenant(scope);
  }

  /**
   * Records addresses that are new to an owner, up to a limit, because each one triggers an email to someone who may
   * not have asked for it.
   */
  async #rememberAddresses(owner: ChannelOwner, inputs: readonly ChannelInput[]): Promise<void> {
    const { queue, clock, nextId } = this.#options;
    const given = inputs.flatMap(({ kind, address }) =>
      kind === "email" && address !== undefined ? [foldedAddress(address)] : [],
    );
    if (given.length === 0) return;
    const known = await queue.consents(owner, given);
    const added = [...new Set(given)].filter((address) => !known.has(address));
    if (added.length === 0) return;
    const now = clock.now();
    if (owner !== null) {
      const { all, recent } = await queue.unconfirmed(owner, now - dayMs);
      if (recent + added.length > addressesPerDay)
        throw new PosthornError(
          "rate_limited",
          `a tenant can add up to ${addressesPerDay} unconfirmed email addresses in 24 hours; add the others tomorrow`,
          { retryAfterSeconds: 86_400 },
        );
      if (all + added.length > unconfirmedMax)
        throw new PosthornError(
          "limit_reached",
          `this tenant has ${all} unconfirmed email addresses; the limit is ${unconfirmedMax}. Ask some recipients to open the link in their confirmation email first`,
        );
    }
    const rows = added.map((address) => ({ id: nextId(), address, createdAt: now }));
    await queue.rememberAddresses(owner, rows);
  }

  /** Queues the only email that an unconfirmed address receives. The sender drops it if one was already sent. */
  async #askToConfirm(saved: readonly StoredChannel[]): Promise<void> {
    const { queue, clock } = this.#options;
    const now = clock.now();
    for (const stored of saved) {
      const { channel, consent } = stored;
      if (channelState(stored, now) !== "unconfirmed" || !mayGetConfirmation(consent)) continue;
      const counter = { subject: `confirmation:${mailboxOf(channel.address)}`, since: dayOf(now) };
      if ((await queue.count(counter)) > confirmationsPerDay) continue;
      await this.#enqueue(channel, confirmationTopic, this.#confirmationOf(channel));
    }
  }

  /** Queues a message to be sent at once, regardless of topics and quiet hours. Returns the id of the message. */
  async #enqueue(
    { id: channelId, tenantId }: NotificationChannel,
    topic: typeof testTopic | typeof confirmationTopic,
    content: NotificationContent,
  ): Promise<string> {
    const { queue, clock, nextId } = this.#options;
    const [id, now] = [nextId(), clock.now()];
    const group = `${topic}:${channelId}`;
    const key = `${topic}:${id}`;
    await queue.enqueue([
      { id, key, channelId, tenantId, topic, group, createdAt: now, dueAt: now, content },
    ]);
    return id;
  }

  /**
   * The content of a confirmation email without its link. The link is added when the email is sent, and is therefore
   * never stored.
   */
  #confirmationOf({ address, language, tenantId }: NotificationChannel): NotificationContent {
    const { wording } = this.#options;
    return {
      subject: wording.say(language, "confirm.subject"),
      text: wording.say(language, "confirm.text", { address }),
      facts: [{ label: wording.say(language, "label.tenant"), value: tenantId ?? "" }],
      severity: "info",
      link: null,
      resolves: false,
    };
  }

  /**
   * Counts a test message against the hourly limits, and rejects if a limit is exceeded. Tests by the operator are not
   * limited.
   */
  async #countTest({ id, tenantId }: NotificationChannel, now: number): Promise<void> {
    if (tenantId === null) return;
    const since = hourOf(now);
    const limits = [
      { subject: `test:channel:${id}`, max: testsPerChannel, what: "a channel" },
      { subject: `test:tenant:${tenantId}`, max: testsPerTenant, what: "a tenant" },
    ];
    for (const { subject, max, what } of limits)
      if ((await this.#options.queue.count({ subject, since })) > max) {
        const retryAfterSeconds = Math.ceil((since + hourMs - now) / 1_000);
        throw new PosthornError(
          "rate_limited",
          `${what} can receive up to ${max} test messages per hour; try again in ${Math.ceil(retryAfterSeconds / 60)} minutes`,
          { retryAfterSeconds },
        );
      }
  }

  /**
   * Validates webhook references. Existing references may point to deleted webhooks; new references must point to
   * webhooks of the owner.
   */
  async #requireWebhooks(
    owner: ChannelOwner,
    inputs: readonly ChannelInput[],
    before: readonly StoredChannel[],
  ): Promise<void> {
    const problems = new ProblemList();
    for (const [index, { id, webhookIds }] of inputs.entries()) {
      const had = before.find(({ channel }) => channel.id === id)?.channel.webhookIds ?? [];
      for (const webhookId of (webhookIds ?? []).filter((each) => !had.includes(each)))
        if (!(await this.#hasWebhook(owner, webhookId)))
          problems.add({
            field: `channels[${index}].webhook_ids`,
            message: "does not name a webhook of this owner",
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
      id,
      tenantId: owner,
      kind,
      webhookId,
      ...withDefaults(channelSettings, input),
      address: input.address ?? (url === undefined ? (known?.address ?? "") : new URL(url).host),
      sealedKey: this.#sealed(id, input.integrationKey) ?? known?.sealedKey ?? null,
      createdAt: known?.createdAt ?? now,
      updatedAt: now,
    };
    return { channel, secret };
  }

  #sealed(channelId: string, key: string | undefined): string | null {
    if (key === undefined) return null;
    const sealed = this.#options.secretBox.seal(key, channelId);
    return Buffer.from(sealed).toString("base64");
  }

  /** Creates or updates the webhook of a channel; its URL is validated like that of any webhook. */
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
      url: url ?? "",
      tenantId: operatorTenantId,
      events: [carriedType],
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

  /** Reopens refused addresses that were saved again. */
  async #reopen(channels: readonly NotificationChannel[], before: readonly StoredChannel[]): Promise<void> {
    for (const { channel, status } of before) {
      const saved = channels.find(({ id }) => id === channel.id);
      if (saved === undefined || status.refusedAt === null) continue;
      await this.#options.queue.saveStatus(saved.id, { ...status, refusedAt: null });
    }
  }
}

function mayGetConfirmation(consent: AddressConsent | null): boolean {
  return consent !== null && consent.confirmationSentAt === null;
}

/** Refuses a test message that would not be sent, with an error that says what to do. */
function refuseTest(stored: StoredChannel, now: number): void {
  const { channel, status, consent } = stored;
  const { address } = channel;
  const state = channelState({ ...stored, status: { ...status, refusedAt: null } }, now);
  if (state === "off")
    throw new PosthornError("conflict", "the channel is disabled; set `enabled` to true before you test it");
  if (state === "unsubscribed")
    throw new PosthornError(
      "conflict",
      `the owner of ${address} unsubscribed. Only the owner can resubscribe, with the link in any email from this system`,
    );
  if (state === "unconfirmed")
    throw new PosthornError(
      "conflict",
      (consent?.confirmationSentAt ?? null) === null
        ? `${address} is not confirmed, and its confirmation email has not been sent. Wait for it, or correct the address; saving the channels sends it again`
        : `${address} is not confirmed. Ask its owner to open the link in the confirmation email, which may be in the spam folder`,
    );
}

function dayOf(at: number): number {
  return at - (at % dayMs);
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Limits on a tenant's unconfirmed addresses: new ones in 24 hours, and in total. */
const addressesPerDay = 50;
const unconfirmedMax = 1_000;
/** Maximum confirmation emails per mailbox and day, over all tenants. */
const confirmationsPerDay = 5;
/** Maximum number of test messages per hour. */
const testsPerChannel = 10;
const testsPerTenant = 50;
