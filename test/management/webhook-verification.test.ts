import assert from "node:assert/strict";
import { test } from "node:test";
import { PosthornError } from "../../src/domain/errors.ts";
import type { WebhookInput } from "../../src/features/services.ts";
import type { OutboundRequest, TransportResult } from "../../src/ports/transport.ts";
import { validPair } from "../peers/certificates.ts";
import { type Answerer, admin, openWorld, type World } from "./world.fixture.ts";

const cloudevents = { verification: "cloudevents" } as const;

function headerOf(request: OutboundRequest | undefined, name: string): string | undefined {
  const { headers = [] } = request ?? {};
  const at = headers.findIndex((candidate, index) => index % 2 === 0 && candidate === name);
  return at === -1 ? undefined : headers[at + 1];
}

const permits = (fields: TransportResult["fields"]): Answerer => {
  return (request) => (request.method === "OPTIONS" ? { fields } : {});
};
const everybody = permits({ "webhook-allowed-origin": "*", "webhook-allowed-rate": "*" });

const echo = (request: OutboundRequest): Partial<TransportResult> => ({
  responseSample: Buffer.from(
    (JSON.parse(Buffer.from(request.body).toString()) as { challenge: string }).challenge,
  ),
});

const failed: Answerer = () => ({
  observation: { kind: "failure", category: "network", requestSent: false },
  errorMessage: "connect ECONNREFUSED 203.0.113.7:443",
});

function keyOf(world: World): string {
  const url = headerOf(
    world.requests.findLast(({ method }) => method === "OPTIONS"),
    "WebHook-Request-Callback",
  );
  return new URL(url ?? "").searchParams.get("key") ?? "";
}

const code = (expected: string) => (error: unknown) =>
  error instanceof PosthornError && error.code === expected;

test("CEW-4.1-1 CEW-4.1-2 CEW-4.1.2-1 CEW-4.1.4-1 permission is requested from the exact URL, with an origin and a rate", async (t) => {
  const world = await openWorld(t);
  world.answers.set(
    "/in?a=1&b",
    permits({ "webhook-allowed-origin": "posthorn.test", "webhook-allowed-rate": "100" }),
  );
  const { webhook } = await world.createWebhook({
    url: "https://example.com/in?a=1&b",
    verification: { method: "cloudevents", requestedRatePerMinute: 120 },
    bearerToken: "never-sent-here",
    headers: { "X-Own": "1" },
  });
  const [request] = world.requests;
  assert.deepEqual(
    [request?.method, request?.origin, request?.path],
    ["OPTIONS", "https://example.com", "/in?a=1&b"],
  );
  assert.equal(headerOf(request, "WebHook-Request-Origin"), "posthorn.test");
  assert.equal(headerOf(request, "WebHook-Request-Rate"), "120");
  assert.match(
    headerOf(request, "WebHook-Request-Callback") ?? "",
    new RegExp(
      `^https://hooks\\.posthorn\\.test/v1/webhooks/${webhook.id}/verification-callback\\?key=[\\w-]{43}$`,
    ),
  );
  assert.equal(headerOf(request, "Authorization"), undefined);
  assert.equal(headerOf(request, "X-Own"), undefined);
  assert.equal(webhook.status, "active");
  assert.deepEqual(
    [webhook.verification.state, webhook.verification.allowedRatePerMinute, webhook.verification.tokenDigest],
    ["granted", 100, null],
  );
});

test("CEW-4.2.2-4 the granted rate applies, unless a lower one is set", async (t) => {
  const world = await openWorld(t);
  world.answers.set("/hook", permits({ "webhook-allowed-origin": "*", "webhook-allowed-rate": "30" }));
  const granted = await world.createWebhook(cloudevents);
  assert.deepEqual(granted.policy.rateLimit, { requestsPerMinute: 30, burst: 1 });
  const lower = await world.createWebhook({ ...cloudevents, rateLimit: { requestsPerMinute: 10, burst: 5 } });
  assert.equal(lower.policy.rateLimit?.requestsPerMinute, 10);
  const higher = await world.createWebhook({
    ...cloudevents,
    rateLimit: { requestsPerMinute: 60, burst: 5 },
  });
  assert.deepEqual(higher.policy.rateLimit, { requestsPerMinute: 30, burst: 1 });
});

test("CEW-4-4 nothing is sent before permission; skipped events can be recovered after it", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const { webhook } = await world.createWebhook(cloudevents);
  assert.deepEqual([webhook.status, webhook.statusReason], ["unverified", "verification"]);
  assert.match(webhook.verification.detail ?? "", /200, without WebHook-Allowed-Origin; .*callback/);
  await world.publish();
  await assert.rejects(webhooks.test(admin, { id: webhook.id, eventType: null }), code("conflict"));
  assert.equal(
    (await webhooks.enable(admin, webhook.id)).webhook.status,
    "unverified",
    "its owner cannot say so",
  );
  assert.equal((await webhooks.disable(admin, webhook.id)).webhook.status, "disabled");
  assert.equal((await webhooks.enable(admin, webhook.id)).webhook.status, "unverified");
  world.answers.set("/hook", everybody);
  assert.equal((await webhooks.verify(admin, webhook.id)).webhook.status, "active");
  const recovery = {
    id: webhook.id,
    since: 0,
    until: null,
    states: null,
    requestsPerSecond: null,
    dryRun: false,
  };
  assert.equal((await webhooks.recover(admin, recovery)).count, 1);
  await world.until(() => world.requests.some(({ method }) => method === "POST"));
});

test("CEW-4-4 a receiver without support gets one request a minute if its owner chooses that", async (t) => {
  const world = await openWorld(t);
  const slow = { verification: { method: "cloudevents", whenUnsupported: "slow" } } as const;
  const { webhook, policy } = await world.createWebhook(slow);
  assert.deepEqual([webhook.status, webhook.verification.state], ["active", "pending"]);
  assert.deepEqual(policy.rateLimit, { requestsPerMinute: 1, burst: 1 });
  await world.publish();
  await world.publish();
  await world.until(() => world.requests.some(({ method }) => method === "POST"));
  world.answers.set("/hook", permits({ "webhook-allowed-origin": "other.example" }));
  const refused = await world.services.webhooks.verify(admin, webhook.id);
  assert.deepEqual([refused.webhook.status, refused.webhook.verification.state], ["unverified", "refused"]);
  assert.equal(world.requests.filter(({ method }) => method === "POST").length, 1);
});

test("CEW-4.1.3-3 CEW-4.1.3-5 the callback permits once, with the right key, in time", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const { webhook } = await world.createWebhook({
    verification: { method: "cloudevents", requestedRatePerMinute: 60 },
  });
  const other = await world.createWebhook(cloudevents);
  const otherKey = keyOf(world);
  await webhooks.verify(admin, webhook.id);
  const key = keyOf(world);
  assert.ok(Buffer.from(key, "base64url").length >= 16);
  const confirm = (more: object) =>
    webhooks.confirmVerification({ id: webhook.id, key, allowedRate: null, ...more });
  for (const wrong of [
    { key: "" },
    { key: `${key}x` },
    { key: otherKey },
    { id: other.webhook.id },
    { id: "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c" },
  ]) {
    await assert.rejects(confirm(wrong), (error: unknown) => {
      assert.ok(code("not_found")(error));
      assert.equal(
        (error as Error).message,
        "this verification link does not exist, was used, or has expired",
      );
      return true;
    });
  }
  await assert.rejects(confirm({ allowedRate: "many" }), code("invalid_request"));
  assert.equal((await webhooks.get(admin, webhook.id)).webhook.status, "unverified");
  await world.restart();
  const again = world.services.webhooks;
  const both = await Promise.allSettled([
    again.confirmVerification({ id: webhook.id, key, allowedRate: "20" }),
    again.confirmVerification({ id: webhook.id, key, allowedRate: "20" }),
  ]);
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"], "one use");
  const view = await again.get(admin, webhook.id);
  assert.deepEqual([view.webhook.status, view.webhook.verification.allowedRatePerMinute], ["active", 20]);
  world.skipTime(7 * 86_400_000 + 1);
  const late = { id: other.webhook.id, key: otherKey, allowedRate: null };
  await assert.rejects(again.confirmVerification(late), code("not_found"));
});

test("CEW-4.2.2-2 a callback without a rate permits the requested one", async (t) => {
  const world = await openWorld(t);
  const { webhook } = await world.createWebhook({
    verification: { method: "cloudevents", requestedRatePerMinute: 60 },
  });
  const { webhooks } = world.services;
  const granted = await webhooks.confirmVerification({
    id: webhook.id,
    key: keyOf(world),
    allowedRate: null,
  });
  assert.deepEqual(granted, { webhookId: webhook.id, allowedRatePerMinute: 60 });
});

test("a callback while the response to OPTIONS is in flight counts, and is not undone by it", async (t) => {
  const world = await openWorld(t);
  world.answers.set("/hook", async (request) => {
    if (request.method !== "OPTIONS") return {};
    const url = new URL(headerOf(request, "WebHook-Request-Callback") ?? "");
    const [id = ""] = /[0-9a-f-]{36}/.exec(url.pathname) ?? [];
    const key = url.searchParams.get("key") ?? "";
    await world.services.webhooks.confirmVerification({ id, key, allowedRate: "7" });
    return {};
  });
  const { webhook } = await world.createWebhook(cloudevents);
  assert.deepEqual([webhook.status, webhook.verification.allowedRatePerMinute], ["active", 7]);
});

test("without a public URL no callback is offered", async (t) => {
  const world = await openWorld(t, { publicUrl: null });
  const { webhook } = await world.createWebhook(cloudevents);
  assert.equal(headerOf(world.requests[0], "WebHook-Request-Callback"), undefined);
  assert.equal(webhook.verification.tokenDigest, null);
  const confirmed = world.services.webhooks.confirmVerification({
    id: webhook.id,
    key: "",
    allowedRate: null,
  });
  await assert.rejects(confirmed, code("not_found"));
});

test("a new URL restarts verification, the same one does not; a PUT can be repeated", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  world.answers.set("/hook", everybody);
  const { id } = (await world.createWebhook(cloudevents)).webhook;
  const update = async (input: WebhookInput) => (await webhooks.update(admin, { id, input })).webhook;
  const same: WebhookInput = {
    url: "https://example.com/hook",
    verification: "cloudevents",
    description: "x",
  };
  for (let times = 0; times < 3; times += 1) assert.equal((await update(same)).status, "active");
  assert.equal(world.requests.length, 1, "nobody was asked again");
  const moved = await update({ url: "https://example.com/elsewhere" });
  assert.deepEqual(
    [moved.status, moved.verification.state, moved.verification.grantedAt],
    ["unverified", "pending", null],
  );
  assert.equal(world.requests.at(-1)?.path, "/elsewhere");
  assert.equal((await update({ url: "https://example.com/hook" })).status, "active");
  const none = await update({ verification: null });
  assert.deepEqual(
    [none.status, none.verification.method, none.verification.state],
    ["active", "none", "none"],
  );
  await assert.rejects(webhooks.verify(admin, id), code("conflict"));
});

test("an unreachable receiver keeps its permission, one that refuses loses it", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  world.answers.set("/hook", everybody);
  const { id } = (await world.createWebhook(cloudevents)).webhook;
  world.answers.set("/hook", failed);
  const kept = (await webhooks.verify(admin, id)).webhook;
  assert.deepEqual([kept.status, kept.verification.state], ["active", "granted"]);
  assert.match(kept.verification.detail ?? "", /ECONNREFUSED/);
  world.answers.set("/hook", permits({ "webhook-allowed-origin": "*", "webhook-allowed-rate": "0" }));
  const lost = (await webhooks.verify(admin, id)).webhook;
  assert.deepEqual([lost.status, lost.verification.state], ["unverified", "refused"]);
});

test("the profile cloudevents includes its verification", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const { webhook } = await world.createWebhook({ profile: "cloudevents", bearerToken: "t" });
  assert.deepEqual([webhook.verification.method, webhook.status], ["cloudevents", "unverified"]);
  const plain = await world.createWebhook({ bearerToken: "t" });
  const changed = await webhooks.update(admin, { id: plain.webhook.id, input: { profile: "cloudevents" } });
  assert.deepEqual(
    [changed.webhook.verification.method, changed.webhook.status],
    ["cloudevents", "unverified"],
  );
});

test("WDS-102 WDS-170 a challenge is passed before the webhook exists", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const seen: number[] = [];
  world.answers.set("/hook", (request) => {
    seen.push([...world.engine.webhooks()].length);
    return echo(request);
  });
  const { webhook } = await world.createWebhook({ verifyUrl: true });
  assert.deepEqual(seen, [0], "it was asked first");
  assert.deepEqual(
    [webhook.status, webhook.verification.method, webhook.verification.state],
    ["active", "challenge", "granted"],
  );
  const [request] = world.requests;
  assert.equal(request?.method, "POST");
  assert.match(headerOf(request, "Webhook-ID") ?? "", /^[0-9a-f-]{36}$/);
  assert.match(headerOf(request, "Webhook-Timestamp") ?? "", /^\d{10}$/);
  for (const [answer, reason] of [
    [() => ({}), /status 200 and an empty body/],
    [() => ({ responseSample: Buffer.from("thanks") }), /status 200 and 6 bytes other than its echo/],
    [
      (asked: OutboundRequest) => ({
        ...echo(asked),
        observation: { kind: "response", status: 404, complete: true },
      }),
      /status 404/,
    ],
    [failed, /ECONNREFUSED/],
  ] as const) {
    world.answers.set("/bad", answer as Answerer);
    const refused = webhooks.create(admin, {
      url: "https://example.com/bad",
      events: ["*"],
      verifyUrl: true,
    });
    await assert.rejects(refused, (error: unknown) => {
      assert.ok(error instanceof PosthornError && error.code === "verification_failed", String(error));
      assert.match(error.message, reason);
      assert.deepEqual(
        error.fields.map(({ field }) => field),
        ["url"],
      );
      return true;
    });
  }
  assert.equal([...world.engine.webhooks()].length, 1, "nothing is left behind");
});

test("a change to a URL that does not echo is rejected as a whole", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  world.answers.set("/hook", echo);
  const before = await world.createWebhook({ verification: "challenge" });
  const { id } = before.webhook;
  const moved = webhooks.update(admin, { id, input: { url: "https://example.com/bad", description: "x" } });
  await assert.rejects(moved, code("verification_failed"));
  assert.deepEqual(await webhooks.get(admin, id), before);
  world.answers.set("/good", echo);
  const good = await webhooks.update(admin, { id, input: { url: "https://example.com/good", http2: true } });
  assert.deepEqual([good.webhook.status, good.webhook.verification.state], ["active", "granted"]);
  world.answers.delete("/good");
  assert.equal((await webhooks.verify(admin, id)).webhook.status, "unverified");
});

test("TS16-125 a domain is verified by a TXT record", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const { webhook, dnsRecord } = await world.createWebhook({ verification: "dns" });
  const { id } = webhook;
  assert.equal(webhook.status, "unverified");
  assert.equal(dnsRecord?.name, "_posthorn-challenge.example.com");
  assert.match(dnsRecord?.value ?? "", /^posthorn-verification=[\w-]{43}$/);
  const other = await world.createWebhook({ verification: "dns" });
  assert.notEqual(other.dnsRecord?.value, dnsRecord?.value);
  const verify = async () => (await webhooks.verify(admin, id)).webhook;
  world.texts.set("_posthorn-challenge.example.com", ["v=spf1", other.dnsRecord?.value ?? ""]);
  assert.equal((await verify()).status, "unverified", "the record of another webhook proves nothing");
  world.texts.set("_posthorn-challenge.example.com", ["v=spf1", dnsRecord?.value ?? ""]);
  assert.equal((await verify()).status, "active");
  world.texts.set("_posthorn-challenge.example.com", "failed");
  assert.equal((await verify()).status, "active", "name servers that are away take nothing back");
  const path = await webhooks.update(admin, { id, input: { url: "https://example.com/other" } });
  assert.equal(path.webhook.status, "active", "it is the host that was proved");
  const host = await webhooks.update(admin, { id, input: { url: "https://example.org/other" } });
  assert.equal(host.webhook.status, "unverified");
  assert.equal(host.dnsRecord?.name, "_posthorn-challenge.example.org");
  await assert.rejects(
    world.createWebhook({ verification: "dns", url: "https://203.0.113.9/" }),
    (error: unknown) => {
      assert.ok(error instanceof PosthornError);
      return error.fields.length > 0;
    },
  );
});

test("invalid verifications are rejected by name", async (t) => {
  const world = await openWorld(t);
  for (const [input, fields] of [
    [{ verification: "email" }, ["verification"]],
    [{ verification: { method: "sms" } }, ["verification.method"]],
    [
      { verification: { method: "dns", requestedRatePerMinute: 5 } },
      ["verification.requested_rate_per_minute"],
    ],
    [{ verification: { method: "challenge", whenUnsupported: "slow" } }, ["verification.when_unsupported"]],
    [
      { verification: { method: "cloudevents", requestedRatePerMinute: 0 } },
      ["verification.requested_rate_per_minute"],
    ],
    [{ verification: "dns", verifyUrl: true }, ["verify_url", "verification"]],
    [{ verifyUrl: "yes" }, ["verify_url"]],
    [{ verification: "dns", url: "https://8.8.8.8/" }, ["verification", "url"]],
  ] as const) {
    await assert.rejects(world.createWebhook(input as unknown as WebhookInput), (error: unknown) => {
      assert.ok(error instanceof PosthornError);
      assert.deepEqual(
        error.fields.map(({ field }) => field),
        fields,
      );
      return true;
    });
  }
  assert.equal(world.requests.length, 0, "nobody was asked");
});

test("a receiver that requires a client certificate is asked with it", async (t) => {
  const world = await openWorld(t);
  const clientCertificate = { certificatePem: validPair.cert, privateKeyPem: validPair.key };
  await world.createWebhook({ ...cloudevents, clientCertificate, http2: true });
  const [request] = world.requests;
  assert.equal(request?.clientCertificate?.certificatePem, validPair.cert);
  assert.equal(request?.http2, true);
});

test("TS16-81 an incident is logged, announced to its subscribers, and limited", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const { webhook } = await world.createWebhook({ url: "https://example.com/receiver", events: ["order.*"] });
  await world.createWebhook({ url: "https://example.com/owner", events: ["posthorn.webhook.*"] });
  const report = {
    id: webhook.id,
    kind: "bad_signature",
    detail: "forged, says the receiver",
    messageId: "m-1",
    occurredAt: 1_700_000_000_000,
  } as const;
  await webhooks.reportIncident(admin, report);
  const announced = await world.until(() => world.requests.find(({ path }) => path === "/owner"));
  const event = JSON.parse(Buffer.from(announced.body).toString()) as { type: string; data: object };
  assert.equal(event.type, "posthorn.webhook.incident_reported");
  assert.deepEqual(
    { ...event.data, reported_at: "" },
    {
      webhook_id: webhook.id,
      tenant_id: "default",
      url: "https://example.com/receiver",
      kind: "bad_signature",
      detail: "forged, says the receiver",
      message_id: "m-1",
      occurred_at: "2023-11-14T22:13:20.000Z",
      reported_at: "",
    },
  );
  const logged = world.log.filter((line) => line.includes("security incident"));
  assert.equal(logged.length, 1);
  assert.ok(
    logged[0]?.includes(webhook.id) && !logged[0].includes("forged"),
    "its words stay out of the log",
  );
  const bad = {
    ...report,
    kind: "boring",
    detail: "",
    messageId: "x".repeat(300),
  } as unknown as typeof report;
  await assert.rejects(webhooks.reportIncident(admin, bad), code("invalid_request"));
  await assert.rejects(webhooks.reportIncident({ tenantId: "other" }, report), code("not_found"));
  for (let count = 0; count < 9; count += 1) await webhooks.reportIncident(admin, report);
  await assert.rejects(webhooks.reportIncident(admin, report), (error: unknown) => {
    assert.ok(error instanceof PosthornError && error.code === "rate_limited");
    assert.ok((error.retryAfterSeconds ?? 0) > 0);
    return true;
  });
});

test("receivers that never respond cannot be contacted without limit", async (t) => {
  const world = await openWorld(t);
  const release: (() => void)[] = [];
  world.answers.set("/hang", () => new Promise((resolve) => release.push(() => resolve({}))));
  const url = "https://example.com/hang";
  const hanging = Array.from({ length: 8 }, () => world.createWebhook({ ...cloudevents, url }));
  await world.until(() => release.length === 8);
  const more = await world.createWebhook({ ...cloudevents, url });
  assert.match(more.webhook.verification.detail ?? "", /too many verifications/);
  await assert.rejects(world.createWebhook({ url, verifyUrl: true }), code("verification_failed"));
  for (const end of release) end();
  await Promise.all(hanging);
  assert.equal(world.requests.length, 8);
});
