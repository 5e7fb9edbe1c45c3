import { eventually } from "../eventually.fixture.ts";
import { refusingPath } from "./agreeable-transport.fixture.ts";
import { itemsOf, textOf } from "./client.fixture.ts";
import type { Client, Json, Reply } from "./client.fixture.ts";

/** One successful response of every operation. */
export async function* tour(
  client: Client,
): AsyncGenerator<{ readonly operationId: string; readonly reply: Reply }> {
  const type = `tour${Date.now()}`;
  const webhookBody = {
    url: "https://example.com/",
    events: [type],
    rate_limit: { requests_per_minute: 10, burst: 1 },
  };
  const event = {
    event_type: type,
    data: { n: 1 },
    metadata: { a: 1 },
    links: [{ href: "https://example.com" }],
  };
  const created = await client.post("/v1/webhooks", webhookBody);
  yield { operationId: "createWebhook", reply: created };
  const webhook = `/v1/webhooks/${textOf(created.body["id"])}`;
  const receipt = await client.post("/v1/events", event);
  yield { operationId: "publishEvent", reply: receipt };
  const raw = { raw: "<a/>", headers: { "content-type": "application/xml" } };
  const rawReceipt = await client.post(`/v1/events?event_type=${type}`, undefined, raw);
  yield { operationId: "publishEvent", reply: rawReceipt };
  yield {
    operationId: "getEvent",
    reply: await client.get(`/v1/events/${textOf(rawReceipt.body["id"])}`),
  };
  const eventPath = `/v1/events/${textOf(receipt.body["id"])}`;
  yield {
    operationId: "publishEvents",
    reply: await client.post("/v1/events/batch", { events: [event, {}] }),
  };
  yield { operationId: "listEvents", reply: await client.get("/v1/events?limit=2") };
  yield { operationId: "getEvent", reply: await client.get(eventPath) };
  const deliveries = await client.get(`${eventPath}/deliveries`);
  yield { operationId: "listEventDeliveries", reply: deliveries };
  yield { operationId: "listEventMatches", reply: await client.get(`${eventPath}/matches`) };
  const delivery = textOf(itemsOf(deliveries.body["data"])[0]?.["id"]);
  yield { operationId: "getDelivery", reply: await client.get(`/v1/deliveries/${delivery}`) };
  yield {
    operationId: "getAttemptRequest",
    reply: await client.get(`/v1/deliveries/${delivery}/attempts/1/request`),
  };
  const both = "include=last_attempt,webhook";
  yield {
    operationId: "search",
    reply: await client.get(`/v1/search?q=${textOf(receipt.body["id"])}`),
  };
  const stream = { isStream: true, headers: { accept: "text/event-stream" } };
  yield { operationId: "stream", reply: await client.get("/v1/stream?topics=deliveries", stream) };
  yield {
    operationId: "deliveryStatistics",
    reply: await client.get("/v1/stats/deliveries?group_by=webhook"),
  };
  yield { operationId: "eventStatistics", reply: await client.get("/v1/stats/events?step=1m") };
  yield { operationId: "gaugeStatistics", reply: await client.get("/v1/stats/gauges?step=1m") };
  yield { operationId: "getSystem", reply: await client.get("/v1/system") };
  yield { operationId: "getCaller", reply: await client.get("/v1/me") };
  yield { operationId: "listWebhookDeliveries", reply: await client.get(`${webhook}/deliveries?${both}`) };
  yield { operationId: "listDeliveries", reply: await client.get(`/v1/deliveries?limit=3&${both}`) };
  yield { operationId: "replayEvent", reply: await client.post(`${eventPath}/replay`) };
  yield {
    operationId: "retryDelivery",
    reply: await client.post(`${webhook}/deliveries/${delivery}/retry`, { priority: "high" }),
  };
  yield { operationId: "listWebhooks", reply: await client.get("/v1/webhooks?limit=250") };
  yield { operationId: "getWebhook", reply: await client.get(webhook) };
  yield {
    operationId: "updateWebhook",
    reply: await client.call("PUT", webhook, { body: { description: "x" } }),
  };
  yield { operationId: "patchWebhook", reply: await client.call("PATCH", webhook, { body: {} }) };
  yield { operationId: "getWebhookHealth", reply: await client.get(`${webhook}/health`) };
  yield { operationId: "listWebhookTimeline", reply: await client.get(`${webhook}/timeline`) };
  yield { operationId: "listWebhookRevisions", reply: await client.get(`${webhook}/revisions?limit=2`) };
  yield { operationId: "getWebhookBacklog", reply: await client.get(`${webhook}/backlog`) };
  yield { operationId: "pauseWebhook", reply: await client.post(`${webhook}/pause`, { reason: "x" }) };
  const action = { body: { action: "force_close", duration_seconds: 5 } };
  yield {
    operationId: "changeCircuit",
    reply: await client.call("PATCH", `${webhook}/circuit-breaker`, action),
  };
  yield {
    operationId: "rotateWebhookSecret",
    reply: await client.post(`${webhook}/secret/rotate`, { overlap_seconds: 60 }),
  };
  yield { operationId: "getWebhookSecret", reply: await client.get(`${webhook}/secret`) };
  yield { operationId: "getWebhookPublicKey", reply: await client.get(`${webhook}/public-key`) };
  yield { operationId: "testWebhook", reply: await client.post(`${webhook}/test`, {}) };
  yield {
    operationId: "checkWebhookUrl",
    reply: await client.post("/v1/webhooks/check-url", { url: "https://example.com/" }),
  };
  yield { operationId: "disableWebhook", reply: await client.post(`${webhook}/disable`) };
  yield { operationId: "resumeWebhook", reply: await client.post(`${webhook}/resume`) };
  yield { operationId: "enableWebhook", reply: await client.post(`${webhook}/enable`) };
  yield* tourOfVerification(client, webhook);
  const recovery = await client.post(`${webhook}/recover`, { since: "2026-01-01" });
  yield { operationId: "recoverWebhook", reply: recovery };
  yield* tourOfProblems(client, type);
  yield* tourOfSessions(client);
  yield* tourOfTheRest(client, { recovery: recovery.body, type });
  yield { operationId: "deleteWebhook", reply: await client.call("DELETE", webhook) };
}

/** Granting permission requires the key that only a receiver has seen; see test/scenarios/verification.test.ts. */
async function* tourOfVerification(
  client: Client,
  webhook: string,
): AsyncGenerator<{ readonly operationId: string; readonly reply: Reply }> {
  await client.call("PATCH", webhook, { body: { verification: "cloudevents" } });
  yield { operationId: "verifyWebhook", reply: await client.post(`${webhook}/verify`) };
  const callback = `${webhook}/verification-callback?key=wrong`;
  yield { operationId: "confirmVerification", reply: await client.get(callback) };
  yield { operationId: "postVerificationConfirmation", reply: await client.post(callback) };
  const incident = { kind: "bad_signature", detail: "x", message_id: null, occurred_at: "2026-01-31" };
  yield { operationId: "reportIncident", reply: await client.post(`${webhook}/incidents`, incident) };
  await client.call("PATCH", webhook, { body: { verification: null } });
}

/** Uses a receiver that refuses everything. */
async function* tourOfProblems(
  client: Client,
  type: string,
): AsyncGenerator<{ readonly operationId: string; readonly reply: Reply }> {
  const refused = { url: `https://example.com${refusingPath}`, events: [`${type}.refused`] };
  const { body } = await client.post("/v1/webhooks", refused);
  await client.post("/v1/events", { event_type: `${type}.refused`, data: {} });
  const list = `/v1/problems?webhook_id=${textOf(body["id"])}`;
  const reply = await eventually("a problem of what was refused", {
    ask: () => client.get(list),
    holds: ({ body: { data } }) => itemsOf(data).length > 0,
  });
  yield { operationId: "listProblems", reply };
  const problem = `/v1/problems/${textOf(itemsOf(reply.body["data"])[0]?.["id"])}`;
  yield { operationId: "getProblem", reply: await client.get(problem) };
  const muted = { muted: true, muted_until: new Date(Date.now() + 60_000).toISOString(), note: "x" };
  yield { operationId: "changeProblem", reply: await client.call("PATCH", problem, { body: muted }) };
}

async function* tourOfSessions(
  client: Client,
): AsyncGenerator<{ readonly operationId: string; readonly reply: Reply }> {
  const code = await client.post("/ui/login-codes");
  yield { operationId: "createLoginCode", reply: code };
  const anybody = client.withKey(null);
  const login = await anybody.post("/ui/session", { code: code.body["code"] });
  yield { operationId: "login", reply: login };
  const [cookie = ""] = (login.headers.get("set-cookie") ?? "").split(";");
  const headers = { cookie, "x-posthorn-ui": "1", "sec-fetch-site": "same-origin" };
  yield { operationId: "getSession", reply: await anybody.get("/ui/session", { headers }) };
  yield { operationId: "logout", reply: await anybody.call("DELETE", "/ui/session", { headers }) };
}

async function* tourOfTheRest(
  client: Client,
  { recovery, type }: { readonly recovery: Json; readonly type: string },
): AsyncGenerator<{ readonly operationId: string; readonly reply: Reply }> {
  const operation = `/v1/dlq/batch-operations/${textOf(recovery["batch_operation_id"])}`;
  yield { operationId: "getBatchOperation", reply: await client.get(operation) };
  const other = operation.replace("dlq/batch-operations", "operations");
  yield { operationId: "getOperation", reply: await client.get(other) };
  yield { operationId: "listOperations", reply: await client.get("/v1/operations?limit=3") };
  const change = { rate_limit: { requests_per_second: 5 } };
  const started = await client.post("/v1/deliveries/retry-batch", { filter: { status: ["exhausted"] } });
  yield { operationId: "retryDeliveries", reply: started };
  const byFilter = { filter: {}, dry_run: true };
  yield {
    operationId: "cancelDeliveries",
    reply: await client.post("/v1/deliveries/cancel-batch", byFilter),
  };
  yield { operationId: "discardDeadLetters", reply: await client.post("/v1/dlq/discard-batch", byFilter) };
  yield { operationId: "changeOperation", reply: await client.call("PATCH", other, { body: change }) };
  yield {
    operationId: "changeBatchOperation",
    reply: await client.call("PATCH", operation, { body: change }),
  };
  yield* alertTour(client);
  yield { operationId: "listAuditLog", reply: await client.get("/v1/audit-log?limit=3") };
  yield { operationId: "cancelOperation", reply: await client.call("DELETE", other) };
  yield { operationId: "cancelBatchOperation", reply: await client.call("DELETE", operation) };
  yield { operationId: "listDeadLetters", reply: await client.get("/v1/dlq") };
  yield {
    operationId: "retryDeadLetters",
    reply: await client.post("/v1/dlq/retry-batch", { rate_limit: { requests_per_second: 5 } }),
  };
  const eventType = `/v1/event-types/${type}`;
  const registered = { description: "x", schema: { type: "object" }, examples: [{ a: 1 }] };
  yield { operationId: "putEventType", reply: await client.call("PUT", eventType, { body: registered }) };
  yield { operationId: "getEventType", reply: await client.get(eventType) };
  yield { operationId: "listEventTypes", reply: await client.get("/v1/event-types") };
  yield {
    operationId: "getWebhookOpenApi",
    reply: await client.get("/v1/webhook-docs/openapi.json?profile=x-webhook"),
  };
  yield { operationId: "getWebhookAsyncApi", reply: await client.get("/v1/webhook-docs/asyncapi.json") };
  yield { operationId: "deleteEventType", reply: await client.call("DELETE", eventType) };
  const tenant = {
    name: "Tour",
    rate_limit: { requests_per_minute: 60, burst: 5 },
    worker_pool: "large",
  };
  yield { operationId: "putTenant", reply: await client.call("PUT", "/v1/tenants/tour", { body: tenant }) };
  yield { operationId: "getTenant", reply: await client.get("/v1/tenants/tour") };
  yield { operationId: "listTenants", reply: await client.get("/v1/tenants") };
  yield* tourOfNotifications(client);
  yield* tourOfPortal(client);
  yield* tourOfGateway(client);
  const key = await client.post("/v1/api-keys", {
    name: "tour",
    role: "read",
    tenant_id: "tour",
    expires_at: "2999-01-01T00:00:00Z",
  });
  yield { operationId: "createApiKey", reply: key };
  yield { operationId: "listApiKeys", reply: await client.get("/v1/api-keys") };
  yield {
    operationId: "revokeApiKey",
    reply: await client.call("DELETE", `/v1/api-keys/${textOf(key.body["id"])}`),
  };
  yield { operationId: "listProfiles", reply: await client.get("/v1/profiles") };
  yield { operationId: "getProfile", reply: await client.get("/v1/profiles/standard") };
  yield { operationId: "listSourceTypes", reply: await client.get("/v1/source-types") };
  yield { operationId: "getSourceType", reply: await client.get("/v1/source-types/github") };
  yield { operationId: "getIndex", reply: await client.get("/v1") };
  yield { operationId: "isAlive", reply: await client.get("/livez") };
  yield { operationId: "isHealthy", reply: await client.get("/healthz") };
  yield { operationId: "isReady", reply: await client.get("/readyz") };
  yield { operationId: "getMetrics", reply: await client.get("/metrics") };
  yield { operationId: "getOpenApi", reply: await client.get("/openapi.json") };
  yield { operationId: "getDocs", reply: await client.get("/docs") };
  yield { operationId: "getErrorDocs", reply: await client.get("/docs/errors") };
  yield { operationId: "getIdempotencyDocs", reply: await client.get("/docs/idempotency") };
}

async function* tourOfNotifications(
  client: Client,
): AsyncGenerator<{ readonly operationId: string; readonly reply: Reply }> {
  const discord = { kind: "discord", url: "https://example.com/hooks", time_zone: "Europe/Berlin" };
  const body = { channels: [{ ...discord, quiet_hours: { from: "22:00", until: "07:00" } }] };
  for (const [path, name] of [
    ["/v1/notification-channels", "NotificationChannel"],
    ["/v1/tenants/tour/notifications", "TenantNotification"],
  ] as const) {
    const put = await client.call("PUT", path, { body });
    yield { operationId: `put${name}s`, reply: put };
    yield { operationId: `list${name}s`, reply: await client.get(path) };
    const [channel] = itemsOf(put.body["data"]);
    const test = await client.post(`${path}/${textOf(channel?.["id"])}/test`, {});
    yield { operationId: `test${name}`, reply: test };
    await client.call("PUT", path, { body: { channels: [] } });
  }
  const told = { channels: [{ kind: "webhook", url: "https://example.com/told" }] };
  const made = await client.call("PUT", "/v1/tenants/tour/notifications", { body: told });
  const [own] = itemsOf(made.body["data"]);
  const rotation = `/v1/tenants/tour/notifications/${textOf(own?.["id"])}/secret/rotate`;
  yield { operationId: "rotateTenantNotificationSecret", reply: await client.post(rotation, {}) };
  await client.call("PUT", "/v1/tenants/tour/notifications", { body: { channels: [] } });
  yield { operationId: "listNotifications", reply: await client.get("/v1/notifications?state=waiting") };
  const nobody = "/notifications/unsubscribe/nobody.nothing";
  yield { operationId: "showUnsubscribe", reply: await client.get(nobody) };
  yield { operationId: "unsubscribe", reply: await client.post(nobody, {}) };
  const confirm = nobody.replace("unsubscribe", "confirm");
  yield { operationId: "showConfirmation", reply: await client.get(confirm) };
  yield { operationId: "confirmAddress", reply: await client.post(confirm, {}) };
}

async function* tourOfGateway(
  client: Client,
): AsyncGenerator<{ readonly operationId: string; readonly reply: Reply }> {
  const description = await client.withKey(null).get("/service-description");
  yield { operationId: "getServiceDescription", reply: description };
  const secret = { type: "github", secrets: ["a long random string"] };
  const made = await client.post("/v1/sources", { name: "GitHub", verification: secret });
  yield { operationId: "createSource", reply: made };
  const sourceId = textOf(made.body["source_id"]);
  const source = `/v1/sources/${sourceId}`;
  yield { operationId: "listSources", reply: await client.get("/v1/sources") };
  yield { operationId: "getSource", reply: await client.get(source) };
  yield { operationId: "getSourceAddress", reply: await client.get(`${source}/address`) };
  yield { operationId: "rotateSourceAddress", reply: await client.post(`${source}/address/rotate`, {}) };
  const version = textOf(description.body["version"]);
  const acknowledged = await client.post(`${source}/acknowledge`, { version });
  yield { operationId: "acknowledgeSource", reply: acknowledged };
  const body = { mode: "store_and_forward" };
  yield { operationId: "updateSource", reply: await client.call("PATCH", source, { body }) };
  const webhook = await client.post("/v1/webhooks", { url: "https://example.com/in", events: ["relayed"] });
  const ends = { source_id: sourceId, webhook_id: textOf(webhook.body["id"]) };
  const connected = await client.post("/v1/connections", ends);
  yield { operationId: "createConnection", reply: connected };
  const connection = `/v1/connections/${textOf(connected.body["id"])}`;
  yield { operationId: "listConnections", reply: await client.get("/v1/connections") };
  yield { operationId: "getConnection", reply: await client.get(connection) };
  const filter = { body: { action: "opened" } };
  const changed = await client.call("PATCH", connection, { body: { filter } });
  yield { operationId: "updateConnection", reply: changed };
  // Sends a request that is not authentic but is still logged.
  const path = new URL(textOf(made.body["url"])).pathname;
  await client.withKey(null).post(path, { action: "opened" });
  const requests = await client.get(`/v1/requests?source_id=${sourceId}`);
  yield { operationId: "listRequests", reply: requests };
  const [first] = requests.body["data"] as unknown as readonly { readonly id: string }[];
  const request = `/v1/requests/${first?.id}`;
  yield { operationId: "getRequest", reply: await client.get(request) };
  const marked = await client.call("PUT", `${request}/bookmark`, { body: { name: "a try" } });
  yield { operationId: "bookmarkRequest", reply: marked };
  for (const target of [{ request_id: first?.id }, { source_id: sourceId }]) {
    const reply = await client.post("/v1/filters/evaluate", { filter, ...target });
    yield { operationId: "evaluateFilter", reply };
  }
  yield { operationId: "replayRequest", reply: await client.post(`${request}/replay`, {}) };
  yield { operationId: "deleteConnection", reply: await client.call("DELETE", connection) };
  yield { operationId: "deleteSource", reply: await client.call("DELETE", source) };
}

async function* tourOfPortal(
  client: Client,
): AsyncGenerator<{ readonly operationId: string; readonly reply: Reply }> {
  const made = await client.post("/v1/portal-sessions", { tenant_id: "tour", reference: "tourist" });
  yield { operationId: "createPortalSession", reply: made };
  yield { operationId: "listPortalSessions", reply: await client.get("/v1/portal-sessions") };
  const redeemed = await client.withKey(null).post("/portal/session", { code: textOf(made.body["code"]) });
  yield { operationId: "redeemPortalCode", reply: redeemed };
  const customer = client.withKey(textOf(redeemed.body["token"]));
  yield { operationId: "getCaller", reply: await customer.get("/v1/me") };
  yield { operationId: "leavePortal", reply: await customer.call("DELETE", "/portal/session") };
  const session = `/v1/portal-sessions/${textOf(made.body["id"])}`;
  yield { operationId: "endPortalSession", reply: await client.call("DELETE", session) };
  const whose = { tenant_id: "tour", reference: "tourist" };
  yield {
    operationId: "revokePortalSessions",
    reply: await client.post("/v1/portal-sessions/revoke", whose),
  };
  for (const [path, name] of [
    ["/v1/portal-settings", "Portal"],
    ["/v1/tenants/tour/portal-settings", "TenantPortal"],
  ] as const) {
    const body = { theme: { accent: "#ffcc00" }, origins: ["https://app.example.com"] };
    yield { operationId: `put${name}Settings`, reply: await client.call("PUT", path, { body }) };
    const raw = { raw: tinyPng, headers: { "content-type": "image/png" } };
    const logo = await client.call("PUT", `${path}/logo?scheme=light`, raw);
    yield { operationId: `put${name}Logo`, reply: logo };
    yield { operationId: `get${name}Settings`, reply: await client.get(path) };
    yield { operationId: `remove${name}Logo`, reply: await client.call("DELETE", `${path}/logo`) };
    await client.call("PUT", path, { body: { theme: null, origins: null } });
  }
}

/** A single transparent pixel. */
const tinyPng = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** Uses a rule whose condition already holds at its first evaluation. */
async function* alertTour(
  client: Client,
): AsyncGenerator<{ readonly operationId: string; readonly reply: Reply }> {
  const body = { metric: "waiting", comparison: "below", threshold: 1_000_000 };
  const path = "/v1/alert-rules/tour";
  yield { operationId: "putAlertRule", reply: await client.call("PUT", path, { body }) };
  yield { operationId: "previewAlertRule", reply: await client.post("/v1/alert-rules/preview", body) };
  yield { operationId: "listAlertRules", reply: await client.get("/v1/alert-rules") };
  const alerts = await eventually("an alert", {
    ask: () => client.get("/v1/alerts?limit=5"),
    holds: (reply) => itemsOf(reply.body["data"]).length > 0,
  });
  yield { operationId: "listAlerts", reply: alerts };
  const alert = textOf(itemsOf(alerts.body["data"])[0]?.["id"]);
  const mute = { until: new Date(Date.now() + 60_000).toISOString(), reason: "seen" };
  yield { operationId: "muteAlert", reply: await client.post(`/v1/alerts/${alert}/mute`, mute) };
  yield { operationId: "deleteAlertRule", reply: await client.call("DELETE", path) };
}
