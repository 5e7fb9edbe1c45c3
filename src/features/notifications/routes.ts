import { NotFoundError } from "../../domain/errors.ts";
import type { ApiOptions } from "../../http/context.ts";
import { inputOf, jsonOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { PlainRoutes } from "../../http/plain-routes.ts";
import { type Answer, type Call, defineRoute, type Route } from "../../http/route.ts";
import type { StoredChannel, StoredNotification } from "../../ports/store/notifications.ts";
import { rotateFields } from "../../resources/actions.ts";
import {
  channelListSchema,
  channelSetFields,
  channelSchema,
  channelSetInputSchema,
  channelTestSchema,
  notificationFilters,
  notificationResource,
} from "../../resources/notification.ts";
import { closed, idSchema, tenantIdSchema, Type } from "../../resources/schema.ts";
import { rotateInputSchema, secretSchema } from "../../resources/webhook-state.ts";
import type { NotificationService, Scope } from "../services.ts";
import { secretJson } from "../webhooks/views.ts";
import { escapeHtml } from "./mail.ts";
import type { MessageName, Wording } from "./messages.ts";
import type { LinkedAddress, SavedChannel } from "./notification-channels.ts";
import { channelState } from "./notification.ts";

/** Required of portal sessions that configure notifications. */
const capability = "notifications:write";
const about =
  "Email, Slack, Teams, Discord, PagerDuty, or a custom URL. A channel defines which notifications it receives, when, and in which language.";
const channelId = idSchema("the channel");
const tenantChannelParams = closed({ id: tenantIdSchema, channel_id: channelId });

/** The channels of the operator, and those of a tenant. */
const levels = [
  {
    path: "/v1/notification-channels",
    name: "NotificationChannel",
    whose: "the operator",
    rights: { access: "admin" },
    errors: { list: [], put: [] },
    putting: "The operator's channels receive notifications about all tenants.",
    test: {
      params: closed({ id: channelId }),
      description:
        "The test is sent immediately. An address that the mail server refused is tried again; one that unsubscribed is not.",
      errors: ["not_found", "conflict"],
      idFrom: "id",
    },
  },
  {
    path: "/v1/tenants/{id}/notifications",
    name: "TenantNotification",
    whose: "a tenant",
    rights: { access: "manage", capability, params: closed({ id: tenantIdSchema }) },
    errors: { list: ["not_found"], put: ["not_found", "rate_limited", "limit_reached"] },
    putting:
      "An email address that is new to the tenant receives only a confirmation request until its reader confirms it.",
    test: {
      params: tenantChannelParams,
      description:
        "The test is sent immediately. An address that the mail server refused is tried again; one that unsubscribed or is not confirmed is not. Limited to 10 tests per hour for a channel and 50 for a tenant.",
      errors: ["not_found", "conflict", "rate_limited"],
      idFrom: "channel_id",
    },
  },
] as const;

type ChannelCall = Pick<Call<{ readonly id?: string; readonly channel_id?: string }>, "scope" | "params">;

/** Notification channels and the notification log. */
export function notificationRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [
    ...levels.flatMap((level) => channelRoutes(options, level)),
    defineRoute({
      method: "POST",
      path: "/v1/tenants/{id}/notifications/{channel_id}/secret/rotate",
      operationId: "rotateTenantNotificationSecret",
      tag: "Notifications",
      access: "manage",
      capability,
      summary: "Rotate the signing secret of a channel",
      description:
        "For channels of the kind `webhook`. The secret of a new channel is shown only in the response that created it.",
      params: tenantChannelParams,
      body: rotateInputSchema,
      bodyOptional: true,
      answers: {
        200: { description: "The new secret, and the old one while both are valid.", schema: secretSchema },
      },
      errors: ["not_found", "rotation_in_progress", "secret_in_use"],
      answerIsSecret: true,
      audit: {
        action: "notification_channel.rotate_secret",
        target: "notification_channel",
        idFrom: "channel_id",
      },
      handle: async ({ scope, params: { id: owner, channel_id: id }, body }) => {
        const command = { owner, id, ...inputOf(rotateFields, body) };
        const view = await options.services.notifications.rotateSecret(scope, command);
        return { status: 200, headers: { "cache-control": "no-store" }, body: secretJson(view) };
      },
    }),
    sentRoute(options, pager),
    ...readerRoutes(options),
  ];
}

function channelRoutes(options: ApiOptions, level: (typeof levels)[number]): readonly Route[] {
  const { path, name, whose, rights, errors, test } = level;
  const isOperator = rights.access === "admin";
  const ownerOf = (call: ChannelCall): string | null => (isOperator ? null : (call.params.id ?? ""));
  const list = async (call: ChannelCall) => {
    const service = options.services.notifications;
    const owner = ownerOf(call);
    return channelsJson(service, await service.list(call.scope, owner), owner, call.scope);
  };
  const described = { ...rights, tag: "Notifications" } as const;
  return [
    defineRoute({
      ...described,
      method: "GET",
      path,
      operationId: `list${name}s`,
      summary: `List ${whose}'s notification channels`,
      errors: errors.list,
      answers: { 200: { description: "All channels.", schema: channelListSchema } },
      handle: async (call) => ({ status: 200, body: await list(call as ChannelCall) }),
    }),
    defineRoute({
      ...described,
      method: "PUT",
      path,
      operationId: `put${name}s`,
      summary: `Set ${whose}'s notification channels`,
      errors: errors.put,
      description: `${about} ${level.putting}`,
      body: channelSetInputSchema,
      answers: { 200: { description: "The updated channels.", schema: channelListSchema } },
      audit: {
        action: "notification_channels.put",
        target: "notification_channels",
        before: async (call: ChannelCall) =>
          isOperator ? list(call) : { tenant_id: ownerOf(call), ...(await list(call)) },
      },
      handle: async (call) => {
        const { channels } = inputOf(channelSetFields, call.body);
        const service = options.services.notifications;
        const owner = ownerOf(call);
        const saved = await service.put(call.scope, owner, channels);
        const headers = { "cache-control": "no-store" };
        return { status: 200, headers, body: channelsJson(service, saved, owner, call.scope) };
      },
    }),
    defineRoute({
      ...described,
      method: "POST",
      path: `${path}/{${test.idFrom}}/test`,
      operationId: `test${name}`,
      isTest: !isOperator,
      summary: `Test a channel of ${whose}`,
      description: test.description,
      params: test.params,
      errors: test.errors,
      answers: { 202: { description: "The test is queued.", schema: channelTestSchema } },
      audit: {
        action: "notification_channel.test",
        target: "notification_channel",
        idFrom: test.idFrom,
      },
      handle: async (call) => {
        const { scope, params: asked } = call as ChannelCall;
        const id = asked[test.idFrom] ?? "";
        const sent = await options.services.notifications.test(scope, ownerOf(call), id);
        return { status: 202, body: { notification_id: sent.notificationId } };
      },
    }),
  ];
}

function sentRoute(options: ApiOptions, pager: Pager): Route {
  const find = () => {
    throw new NotFoundError("the message");
  };
  return new PlainRoutes(notificationResource, find, () => ({})).pages(
    {
      access: "manage",
      capability,
      summary: "List sent and pending notifications",
      description: "Newest first. Kept for 30 days.",
      answer: "A page of messages.",
    },
    notificationFilters,
    async (scope, filters, query, listing) => {
      const asked = { ...filters, owner: undefined, page: pager.request(query, listing) };
      const found = await options.services.notifications.sent(scope, asked);
      return pager.answer(found, listing, (each) => notificationJson(each, scope));
    },
  );
}

/**
 * Lets the recipient of an email confirm an address, unsubscribe, or resubscribe. Link scanners send GET, so only POST
 * changes anything (RFC 8058).
 */
function readerRoutes(options: ApiOptions): readonly Route[] {
  const described = {
    tag: "Notifications" as const,
    access: "public" as const,
    errors: ["not_found"] as const,
    params: closed({ token: Type.String({ minLength: 1, maxLength: 200 }) }),
  };
  const html = (description: string) => ({ 200: { description, contentType: "text/html" } });
  const pageOf = async (linked: Promise<LinkedAddress | null>): Promise<ReaderPage> => {
    const found = await linked;
    if (found === null) throw new NotFoundError("the link");
    return new ReaderPage(found, options.services.notifications.wording);
  };
  const shown = (token: string) => pageOf(options.services.notifications.linked(token));
  const decided = (token: string, wanted: boolean) =>
    pageOf(options.services.notifications.decide(token, wanted));
  const confirmPath = "/notifications/confirm/{token}";
  const stopPath = "/notifications/unsubscribe/{token}";
  return [
    defineRoute({
      ...described,
      method: "GET",
      path: confirmPath,
      operationId: "showConfirmation",
      summary: "Show the subscription page of an address",
      answers: html("A page with a button."),
      handle: async ({ params: { token } }) =>
        (await shown(token)).answer("confirm.title", "confirm.ask", token),
    }),
    defineRoute({
      ...described,
      method: "POST",
      path: confirmPath,
      operationId: "confirmAddress",
      bodyIgnored: true,
      summary: "Confirm or resubscribe an address",
      answers: html("The address is subscribed."),
      audit: { none: "recipients subscribe their own address; the channel shows when" },
      handle: async ({ params: { token } }) =>
        (await decided(token, true)).answer("confirm.title", "confirm.done"),
    }),
    defineRoute({
      ...described,
      method: "GET",
      path: stopPath,
      operationId: "showUnsubscribe",
      summary: "Show the unsubscribe page of an address",
      answers: html("A page with a button."),
      handle: async ({ params: { token } }) => {
        const page = await shown(token);
        return page.linked.consent.unsubscribedAt === null
          ? page.answer("unsubscribe.title", "unsubscribe.ask", undefined, token)
          : page.answer("confirm.title", "unsubscribe.again", token);
      },
    }),
    defineRoute({
      ...described,
      method: "POST",
      path: stopPath,
      operationId: "unsubscribe",
      bodyIgnored: true,
      summary: "Unsubscribe an address with one click",
      answers: html("The address is unsubscribed."),
      audit: { none: "recipients unsubscribe their own address; the channel shows when" },
      handle: async ({ params: { token } }) =>
        (await decided(token, false)).answer("unsubscribe.title", "unsubscribe.done", token),
    }),
  ];
}

/** The pages that a recipient opens from an email, in the language of the channel. */
class ReaderPage {
  readonly linked: LinkedAddress;
  readonly #wording: Wording;

  constructor(linked: LinkedAddress, wording: Wording) {
    this.linked = linked;
    this.#wording = wording;
  }

  /**
   * Responds with a page. `start` and `stop` are the tokens of its buttons that subscribe and unsubscribe the address.
   */
  answer(title: MessageName, text: MessageName, start?: string, stop?: string): Answer {
    const { language, address } = this.linked;
    const say = (name: MessageName) => escapeHtml(this.#wording.say(language, name, { address }));
    const button = (way: string, token: string | undefined, name: MessageName) =>
      token === undefined
        ? ""
        : `<form method="post" action="../${way}/${encodeURIComponent(token)}"><button>${say(name)}</button></form>`;
    const forms =
      button("confirm", start, "confirm.button") + button("unsubscribe", stop, "unsubscribe.button");
    return {
      status: 200,
      text: `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>${say(title)}</title></head><body><h1>${say(title)}</h1><p>${say(text)}</p>${forms}</body></html>`,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy":
          "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
      },
    };
  }
}

function channelsJson(
  service: NotificationService,
  channels: readonly (StoredChannel & Partial<SavedChannel>)[],
  owner: string | null,
  scope: Scope,
) {
  const data = channels.map((saved) => channelJson(saved, scope, service.now));
  return { data, kinds: service.kinds(owner) };
}

/** Hides mail server and network errors from customers. */
function errorFor(scope: Scope, error: string | null): string | null {
  return scope.portal === undefined ? error : null;
}

function channelJson(
  saved: StoredChannel & Partial<SavedChannel>,
  scope: Scope,
  now: number,
): Record<string, unknown> {
  const { channel, status, consent, secret = null } = saved;
  return jsonOf(channelSchema, {
    ...channel,
    ...status,
    secret,
    state: channelState(saved, now),
    confirmationSentAt: consent?.confirmationSentAt ?? null,
    confirmedAt: consent?.confirmedAt ?? null,
    unsubscribedAt: consent?.unsubscribedAt ?? null,
    lastError: errorFor(scope, status.lastError),
    webhookId: channel.tenantId === null ? channel.webhookId : null,
  });
}

function notificationJson(
  { content, ...notification }: StoredNotification,
  scope: Scope,
): Record<string, unknown> {
  const eventId = notification.tenantId === null ? notification.eventId : null;
  const error = errorFor(scope, notification.error);
  return jsonOf(notificationResource.schemas.one, {
    ...notification,
    eventId,
    error,
    subject: content.subject,
  });
}
