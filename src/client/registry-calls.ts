import type { Caller } from "./caller.ts";
import { callsOf } from "./calls.ts";

/** Subscriptions: where events go, and how. */
export function webhooksOf(caller: Caller) {
  const { list, one, send, sendTo } = callsOf(caller);
  return {
    list: list<"listWebhooks">("/v1/webhooks"),
    get: one<"getWebhook">("GET /v1/webhooks/{id}"),
    /** The response contains the secret, which is shown only once. */
    create: send<"createWebhook">("POST /v1/webhooks"),
    /** Changes the given fields and keeps the others. */
    update: sendTo<"patchWebhook">("PATCH /v1/webhooks/{id}"),
    delete: one<"deleteWebhook">("DELETE /v1/webhooks/{id}"),
    /** Sends a test event on the normal delivery path. */
    test: sendTo<"testWebhook">("POST /v1/webhooks/{id}/test"),
    enable: one<"enableWebhook">("POST /v1/webhooks/{id}/enable"),
    disable: one<"disableWebhook">("POST /v1/webhooks/{id}/disable"),
    /** Pauses delivery; events are kept and sent later. */
    pause: sendTo<"pauseWebhook">("POST /v1/webhooks/{id}/pause"),
    resume: one<"resumeWebhook">("POST /v1/webhooks/{id}/resume"),
    health: one<"getWebhookHealth">("GET /v1/webhooks/{id}/health"),
    backlog: one<"getWebhookBacklog">("GET /v1/webhooks/{id}/backlog"),
    changeCircuit: sendTo<"changeCircuit">("PATCH /v1/webhooks/{id}/circuit-breaker"),
    secret: one<"getWebhookSecret">("GET /v1/webhooks/{id}/secret"),
    publicKey: one<"getWebhookPublicKey">("GET /v1/webhooks/{id}/public-key"),
    rotateSecret: sendTo<"rotateWebhookSecret">("POST /v1/webhooks/{id}/secret/rotate"),
    verify: one<"verifyWebhook">("POST /v1/webhooks/{id}/verify"),
    /** Starts an operation that delivers missed events. */
    recover: sendTo<"recoverWebhook">("POST /v1/webhooks/{id}/recover"),
  };
}

/** The catalogue of event types and the schemas of their data. */
export function eventTypesOf(caller: Caller) {
  const { list, one, sendTo } = callsOf(caller);
  const path = "/v1/event-types/{name}";
  return {
    list: list<"listEventTypes">("/v1/event-types"),
    get: one<"getEventType">(`GET ${path}`),
    put: sendTo<"putEventType">(`PUT ${path}`),
    delete: one<"deleteEventType">(`DELETE ${path}`),
  };
}

/** Tenants, which own webhooks and events; for administrators. */
export function tenantsOf(caller: Caller) {
  const { list, one, sendTo } = callsOf(caller);
  return {
    list: list<"listTenants">("/v1/tenants"),
    get: one<"getTenant">("GET /v1/tenants/{id}"),
    put: sendTo<"putTenant">("PUT /v1/tenants/{id}"),
  };
}

/** Sessions in which your customers can see and change their webhooks in the portal. */
export function portalSessionsOf(caller: Caller) {
  const { list, one, send } = callsOf(caller);
  return {
    /** The response contains the URL that the customer opens, and the code for a portal embedded in a page. */
    create: send<"createPortalSession">("POST /v1/portal-sessions"),
    list: list<"listPortalSessions">("/v1/portal-sessions"),
    delete: one<"endPortalSession">("DELETE /v1/portal-sessions/{id}"),
    /** Ends all sessions with a reference. */
    revoke: send<"revokePortalSessions">("POST /v1/portal-sessions/revoke"),
  };
}
