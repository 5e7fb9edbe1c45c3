import { NotFoundError } from "../../domain/errors.ts";
import type { ApiOptions } from "../../http/context.ts";
import { filtersOf, inputOf, jsonOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { type Answer, type Call, defineRoute, type Route } from "../../http/route.ts";
import type { StoredNotification } from "../../ports/store/notifications.ts";
import { rotateFields } from "../../resources/actions.ts";
import {
  channelListSchema,
  channelSetFields,
  channelSetInputSchema,
  channelSchema,
  channelTestSchema,
  notificationFilters,
  notificationListSchema,
  notificationQuerySchema,
  notificationSchema,
} from "../../resources/notification.ts";
import { closed, idSchema, tenantIdSchema, Type } from "../../resources/schema.ts";
import { rotateInputSchema, secretSchema } from "../../resources/webhook-state.ts";
import type { NotificationService, Scope } from "../services.ts";
import { secretJson } from "../webhooks/views.ts";
import { escapeHtml } from "./mail.ts";
import { type MessageName, Wording } from "./messages.ts";
import type { LinkedAddress, SavedChannel } from "./notification-channels.ts";
import { channelState } from "./notification.ts";

const channelId = idSchema("the channel");
const uncached = { "cache-control": "no-store" };
/** Required of portal sessions that configure notifications. */
const capability = "notifications:write";
const tenantParams = closed({ id: tenantIdSchema });
const about =
  "Email, Slack, Teams, Discord, PagerDuty, or a custom URL. A channel defines which notifications it receives, when, and in which language.";

/** Notification channels and the notification log. */
export function notificationRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [
    ...operatorRoutes(options),
    ...tenantRoutes(options),
    sentRoute(options, pager),
    ...readerRoutes(options),
  ];
}

function operatorRoutes(options: ApiOptions): readonly Route[] {
  const owner = null;
  const list = async ({ scope }: Pick<Call, "scope">) => {
    const service = options.services.notifications;
    return channelsJson(service, unsaid(await service.list(scope, owner)), { owner, scope });
  };
  return [
    defineRoute({
      method: "GET",
      path: "/v1/notification-channels",
      operationId: "listNotificationChannels",
      tag: "Notifications",
      summary: "List the operator's notification channels",
      access: "admin",
      errors: [],
      answers: { 200: { description: "All channels.", schema: channelListSchema } },
      handle: async (call) => ({ status: 200, body: await list(call) }),
    }),
    defineRoute({
      method: "PUT",
      path: "/v1/notification-channels",
      operationId: "putNotificationChannels",
      tag: "Notifications",
      summary: "Set the operator's notification channels",
      access: "admin",
      errors: [],
      description: `${about} The operator's channels receive notifications about all tenants.`,
      body: channelSetInputSchema,
      answers: { 200: { description: "The updated channels.", schema: channelListSchema } },
      audit: { action: "notification_channels.put", target: "notification_channels", before: list },
      handle: async ({ scope, body }) => {
        const { channels } = inputOf(channelSetFields, body);
        const service = options.services.notifications;
        const saved = await service.put(scope, { owner, channels });
        return { status: 200, headers: uncached, body: channelsJson(service, saved, { owner, scope }) };
      },
    }),
    defineRoute({
      method: "POST",
      path: "/v1/notification-channels/{id}/test",
      operationId: "testNotificationChannel",
      tag: "Notifications",
      access: "admin",
      summary: "Test a channel of the operator",
      description:
        "Sent at once. An address that the mail server refused is tried again; one that unsubscribed is not.",
      params: closed({ id: channelId }),
      errors: ["not_found", "conflict"] as const,
      answers: { 202: { description: "The test is queued.", schema: channelTestSchema } },
      audit: { action: "notification_channel.test", target: "notification_channel" },
      handle: async ({ scope, params: { id } }) =>
        testAnswer(await options.services.notifications.test(scope, owner, id)),
    }),
  ];
}

function tenantRoutes(options: ApiOptions): readonly Route[] {
  type ForTenant = Pick<Call<{ readonly id: string }>, "scope" | "params">;
  const list = async ({ scope, params: { id } }: ForTenant) => {
    const service = options.services.notifications;
    return {
      tenant_id: id,
      ...channelsJson(service, unsaid(await service.list(scope, id)), { owner: id, scope }),
    };
  };
  return [
    defineRoute({
      method: "GET",
      path: "/v1/tenants/{id}/notifications",
      operationId: "listTenantNotifications",
      tag: "Notifications",
      summary: "List a tenant's notification channels",
      access: "manage",
      capability,
      params: tenantParams,
      errors: ["not_found"] as const,
      answers: { 200: { description: "All channels.", schema: channelListSchema } },
      handle: async (call) => ({ status: 200, body: channelsOnly(await list(call)) }),
    }),
    defineRoute({
      method: "PUT",
      path: "/v1/tenants/{id}/notifications",
      operationId: "putTenantNotifications",
      tag: "Notifications",
      summary: "Set a tenant's notification channels",
      access: "manage",
      capability,
      params: tenantParams,
      errors: ["not_found", "rate_limited", "limit_reached"] as const,
      description: `${about} An email address that is new to the tenant receives only a confirmation request until its reader confirms it.`,
      body: channelSetInputSchema,
      answers: { 200: { description: "The updated channels.", schema: channelListSchema } },
      audit: { action: "notification_channels.put", target: "notification_channels", before: list },
      handle: async ({ scope, params: { id: owner }, body }) => {
        const { channels } = inputOf(channelSetFields, body);
        const service = options.services.notifications;
        const saved = await service.put(scope, { owner, channels });
        return { status: 200, headers: uncached, body: channelsJson(service, saved, { owner, scope }) };
      },
    }),
    defineRoute({
      method: "POST",
      path: "/v1/tenants/{id}/notifications/{channel_id}/test",
      operationId: "testTenantNotification",
      tag: "Notifications",
      access: "manage",
      capability,
      isTest: true,
      summary: "Test a channel of a tenant",
      description:
        "Sent at once. An address that the mail server refused is tried again; one that unsubscribed or is not confirmed is not. Limited to 10 tests per hour for a channel and 50 for a tenant.",
      params: closed({ id: tenantIdSchema, channel_id: channelId }),
      errors: ["not_found", "conflict", "rate_limited"],
      answers: { 202: { description: "The test is queued.", schema: channelTestSchema } },
      audit: { action: "notification_channel.test", target: "notification_channel", idFrom: "channel_id" },
      handle: async ({ scope, params: { id: owner, channel_id: id } }) =>
        testAnswer(await options.services.notifications.test(scope, owner, id)),
    }),
    rotateRoute(options),
  ];
}

function rotateRoute(options: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/tenants/{id}/notifications/{channel_id}/secret/rotate",
    operationId: "rotateTenantNotificationSecret",
    tag: "Notifications",
    access: "manage",
    capability,
    summary: "Rotate the signing secret of a channel",
    description:
      "For channels of the kind `webhook`. The secret of a new channel is shown only in the response that created it.",
    params: closed({ id: tenantIdSchema, channel_id: channelId }),
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
      return { status: 200, headers: uncached, body: secretJson(view) };
    },
  });
}

function sentRoute(options: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/notifications",
    operationId: "listNotifications",
    tag: "Notifications",
    summary: "List sent and pending notifications",
    access: "manage",
    capability,
    description: "Newest first. Kept for 30 days.",
    query: notificationQuerySchema,
    answers: { 200: { description: "A page of messages.", schema: notificationListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const filters = filtersOf(notificationFilters, query);
      const listing = { tenantId: scope.tenantId, route: "notifications", filters };
      const page = pager.request(query, listing);
      const found = await options.services.notifications.sent(scope, { ...filters, owner: undefined, page });
      return {
        status: 200,
        body: pager.answer(found, listing, (each) => notificationJson(each, scope)),
      };
    },
  });
}

/**
 * For readers of a mail: confirm an address, unsubscribe, or resubscribe. Link scanners send GET, so only POST changes
 * anything (RFC 8058).
 */
function readerRoutes(options: ApiOptions): readonly Route[] {
  const described = {
    tag: "Notifications" as const,
    access: "public" as const,
    errors: ["not_found"] as const,
    params: closed({ token: Type.String({ minLength: 1, maxLength: 200 }) }),
  };
  const html = (description: string) => ({ 200: { description, contentType: "text/html" } });
  const linked = async (token: string) => {
    const found = await options.services.notifications.linked(token);
    if (found === null) throw new NotFoundError("the link");
    return found;
  };
  const decide = async (token: string, wanted: boolean) => {
    const found = await options.services.notifications.decide(token, wanted);
    if (found === null) throw new NotFoundError("the link");
    return found;
  };
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
        readerPage(await linked(token), "confirm.title", "confirm.ask", token),
    }),
    defineRoute({
      ...described,
      method: "POST",
      path: confirmPath,
      operationId: "confirmAddress",
      bodyIgnored: true,
      summary: "Confirm or resubscribe an address",
      answers: html("The address is subscribed."),
      audit: { none: "readers subscribe their own address; the channel shows since when" },
      handle: async ({ params: { token } }) =>
        readerPage(await decide(token, true), "confirm.title", "confirm.done"),
    }),
    defineRoute({
      ...described,
      method: "GET",
      path: stopPath,
      operationId: "showUnsubscribe",
      summary: "Show the unsubscribe page of an address",
      answers: html("A page with a button."),
      handle: async ({ params: { token } }) => {
        const found = await linked(token);
        return found.consent.unsubscribedAt === null
          ? readerPage(found, "unsubscribe.title", "unsubscribe.ask", undefined, token)
          : readerPage(found, "confirm.title", "unsubscribe.again", token);
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
      audit: { none: "readers unsubscribe their own address; the channel shows since when" },
      handle: async ({ params: { token } }) =>
        readerPage(await decide(token, false), "unsubscribe.title", "unsubscribe.done", token),
    }),
  ];
}

function readerPage(
  { address, language }: LinkedAddress,
  title: MessageName,
  text: MessageName,
  /** Tokens of the buttons that subscribe and unsubscribe. */ start?: string,
  stop?: string,
): Answer {
  const say = (name: MessageName) => escapeHtml(wording.say(language, name, { address }));
  const button = (way: string, token: string, name: MessageName) =>
    `<form method="post" action="../${way}/${encodeURIComponent(token)}"><button>${say(name)}</button></form>`;
  const forms = [
    start === undefined ? "" : button("confirm", start, "confirm.button"),
    stop === undefined ? "" : button("unsubscribe", stop, "unsubscribe.button"),
  ].join("");
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

const wording = new Wording();

function testAnswer({ notificationId }: { readonly notificationId: string }): Answer {
  return { status: 202, body: { notification_id: notificationId } };
}

function channelsOnly({ data, kinds }: ReturnType<typeof channelsJson>) {
  return { data, kinds };
}

function channelsJson(
  service: Pick<NotificationService, "kinds" | "now">,
  channels: readonly SavedChannel[],
  { owner, scope }: { readonly owner: string | null; readonly scope: Scope },
) {
  const { now } = service;
  return { data: channels.map((saved) => channelJson(saved, scope, now)), kinds: service.kinds(owner) };
}

/** Hides errors of mail servers and the network from customers. */
function errorFor(scope: Scope, error: string | null): string | null {
  return scope.portal === undefined ? error : null;
}

/** The channels without their secrets, as in later responses. */
function unsaid(channels: readonly Omit<SavedChannel, "secret">[]): readonly SavedChannel[] {
  return channels.map(({ channel, status, consent }) => ({ channel, status, consent, secret: null }));
}

function channelJson(saved: SavedChannel, scope: Scope, now: number): Record<string, unknown> {
  const { channel, status, consent, secret } = saved;
  const { tenantId: owner, quietHours, webhookId } = channel;
  const shown = {
    ...channel,
    ...status,
    secret,
    state: channelState(saved, now),
    confirmationSentAt: consent?.confirmationSentAt ?? null,
    confirmedAt: consent?.confirmedAt ?? null,
    unsubscribedAt: consent?.unsubscribedAt ?? null,
    lastError: errorFor(scope, status.lastError),
    webhookId: owner === null ? webhookId : null,
  };
  const hours = quietHours && { from: timeText(quietHours.from), until: timeText(quietHours.until) };
  return jsonOf(channelSchema, { ...shown, quietHours: hours });
}

function timeText(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}

function notificationJson(
  { content, ...notification }: StoredNotification,
  scope: Scope,
): Record<string, unknown> {
  const eventId = notification.tenantId === null ? notification.eventId : null;
  const error = errorFor(scope, notification.error);
  return jsonOf(notificationSchema, { ...notification, eventId, error, subject: content.subject });
}
