/**
 * Conclusions that a delivery may and may not draw from its responses, tested with the profile that follows the draft
 * exactly.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answer, Reaction } from "../peers/receiver.ts";
import { engineScene, retrySchedule } from "./engine-scene.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { listDeadLetters } from "../listed-deliveries.ts";

const scene = engineScene();

test("EDS-2-3 each attempt has its own record, with its own times and outcome", async () => {
  await scene.addWebhook();
  // The first response closes its connection. On a kept connection, a reset may be a race, which does not use up an
  // attempt.
  scene.react({ status: 503, headers: { Connection: "close" } }, "reset", { status: 200 });
  const { delivery, attempts } = await scene.ended(await scene.publish());
  assert.equal(delivery.progress.state, "success");
  assert.deepEqual(
    attempts.map(({ number, outcome, category, statusCode }) => [number, outcome, category, statusCode]),
    [
      [1, "transient", "server_error", 503],
      [2, "transient", "network", null],
      [3, "accepted", null, 200],
    ],
  );
  const times = attempts.map(({ executedAt }) => executedAt);
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
  assert.equal(new Set(attempts.map(({ id }) => id)).size, 3);
});

test("EDS-6.2-1 EDS-2-4 EDS-9.8.1-1 an accepted delivery is shown as accepted, not processed, and is never sent again", async () => {
  await scene.addWebhook();
  const { attempts } = await scene.ended(await scene.publish());
  assert.deepEqual(
    attempts.map(({ outcome, nextRetryAt }) => [outcome, nextRetryAt]),
    [["accepted", null]],
  );
  await scene.ended(await scene.publish());
  assert.equal(scene.receiver.requestCount, 2, "one request for each event");
});

test("EDS-6.1-1 EDS-6.1-2 until a response arrives, a delivery is only pending", async () => {
  await scene.addWebhook();
  const { promise: answered, resolve: answer } = Promise.withResolvers<Reaction>();
  scene.receiver.script((_, index) => (index === 0 ? answered : {}));
  const eventId = await scene.publish();
  await scene.receiver.waitForRequests(1);
  const { progress, id } = await scene.deliveryOf(eventId);
  assert.deepEqual([progress.state, progress.attemptCount], ["pending", 0]);
  assert.deepEqual(await scene.world.store.history.listAttempts(id), []);
  answer("close");
  const { delivery, attempts } = await scene.ended(eventId);
  assert.deepEqual([delivery.progress.state, attempts.length], ["success", 2], "lost on the way, not lost");
});

test("EDS-7.2-2 a receiver that accepted the event but disconnected gets it again under the same key", async () => {
  await scene.addWebhook();
  scene.react("reset", { status: 200 });
  const { delivery, attempts } = await scene.ended(await scene.publish());
  const [first, second] = scene.receiver.requests;
  assert.equal(first?.headers["idempotency-key"], second?.headers["idempotency-key"]);
  assert.deepEqual(first?.body, second?.body);
  assert.equal(attempts[0]?.receiverStateUnknown, true);
  assert.deepEqual([delivery.progress.state, delivery.progress.reason], ["success", null]);
});

test("EDS-6.2-4 EDS-6.2-5 neither bodies nor custom headers of a response change the outcome", async () => {
  await scene.addWebhook();
  const advice = { "X-Retry": "never", "Retry-Count": "0", "Content-Type": "application/json" };
  scene.react(
    { status: 503, headers: advice, body: '{"retry":false,"status":200}' },
    { status: 200, headers: advice, body: '{"error":true,"status":503}' },
  );
  const { attempts } = await scene.ended(await scene.publish());
  assert.deepEqual(
    attempts.map(({ outcome }) => outcome),
    ["transient", "accepted"],
  );
});

test("EDS-8-3 EDS-9.8.3-1 TS16-121 WDS-20 a permanent refusal is kept for people, with the problem that the receiver named", async () => {
  const webhook = await scene.addWebhook();
  const problem = JSON.stringify({
    type: "https://example.com/problems/schema",
    title: "Schema mismatch",
    status: 422,
    detail: "order_id must be a number",
  });
  scene.react({ status: 422, headers: { "Content-Type": "application/problem+json" }, body: problem });
  const { delivery, attempts } = await scene.ended(await scene.publish());
  assert.equal(delivery.progress.reason, "permanent_client_error_422");
  assert.deepEqual(
    attempts.map(({ outcome, category, statusCode, responseSample }) => [
      outcome,
      category,
      statusCode,
      responseSample,
    ]),
    [["terminal", "client_error", 422, problem]],
  );
  const letters = await listDeadLetters(scene.world.store.history, {
    tenantId: scene.tenantId,
    webhookIds: [webhook.id],
  });
  assert.deepEqual(
    letters.rows.map(({ id }) => id),
    [delivery.id],
  );
  const lines = scene.world.logged.filter(({ fields }) => fields["deliveryId"] === delivery.id);
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, fields["webhookId"], fields["reason"]]),
    [["warn", webhook.id, "permanent_client_error_422"]],
  );
});

test("EDS-9.8.4-1 TS16-13 TS16-100 WDS-50 the webhook's own timeout ends a request, the state is unknown, the retry has the same key", async () => {
  await scene.addWebhook({
    retry: { ...retrySchedule(30), timeoutMs: 200 },
  });
  scene.react("hang", { status: 200 });
  const { attempts } = await scene.ended(await scene.publish());
  const [first] = attempts;
  assert.deepEqual(
    [first?.outcome, first?.category, first?.receiverStateUnknown],
    ["transient", "timeout", true],
  );
  assert.ok((first?.durationMs ?? 0) >= 190 && (first?.durationMs ?? 0) < 20_000, `${first?.durationMs} ms`);
  const [request, retry] = scene.receiver.requests;
  assert.equal(retry?.headers["idempotency-key"], request?.headers["idempotency-key"]);
});

test("WDS-188 WDS-51 WDS-123 the timeout grows with the attempt number, up to three times the first one", async () => {
  const retry = { ...retrySchedule(20, 20, 20), timeoutMs: 600, timeoutGrowthFactor: 2 };
  await scene.addWebhook({ retry });
  scene.react("hang", "hang", "hang", { status: 200 });
  const { attempts } = await scene.ended(await scene.publish());
  const timedOut = attempts.slice(0, 3);
  assert.deepEqual(
    timedOut.map(({ category }) => category),
    ["timeout", "timeout", "timeout"],
  );
  for (const [index, timeoutMs] of [600, 1_200, 1_800].entries()) {
    const { durationMs = 0 } = timedOut[index] ?? {};
    assert.ok(
      durationMs >= timeoutMs - 10 && durationMs < timeoutMs + 590,
      `${durationMs} of ${timeoutMs} ms`,
    );
  }
});

test("WDS-218 a late 2xx within the timeout is a success", async () => {
  await scene.addWebhook({ retry: { ...retrySchedule(20), timeoutMs: 60_000 } });
  scene.react({ status: 200, delayMs: 1_100 });
  const { delivery, attempts } = await scene.ended(await scene.publish());
  assert.deepEqual([delivery.progress.state, attempts.length], ["success", 1]);
  assert.ok((attempts[0]?.durationMs ?? 0) >= 1_090, `${attempts[0]?.durationMs} ms`);
  assert.equal(scene.receiver.requestCount, 1);
});

test("EDS-9.5-2 EDS-6.3-4 EDS-9.6-6 no attempt comes before Retry-After, in any of its forms", async () => {
  // This profile does not pause endpoints, so only the delivery itself delays the attempt.
  const until = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 2_000);
  const [weekday = "", day = "", month = "", year = "", time = ""] = until.toUTCString().split(/,? /);
  const longDay = until.toLocaleDateString("en", { weekday: "long", timeZone: "UTC" });
  const forms = [
    "2",
    until.toUTCString(),
    `${longDay}, ${day}-${month}-${year.slice(2)} ${time} GMT`,
    `${weekday} ${month} ${day.replace(/^0/, " ")} ${time} ${year}`,
  ];
  const notBefore = new Map<string, number>();
  scene.receiver.script(({ path }) => {
    if (notBefore.has(path)) return {};
    const form = forms[Number(path.slice(1))] ?? "";
    notBefore.set(path, form === "2" ? Date.now() + 2_000 : until.getTime());
    return { status: 503, headers: { "Retry-After": form } };
  });
  for (const index of forms.keys()) await scene.addWebhook({ url: scene.receiver.url(`/${index}`) });
  await scene.publish();
  const startedAt = Date.now() - performance.now();
  const requests = await scene.receiver.waitForRequests(2 * forms.length);
  for (const [index, form] of forms.entries()) {
    const [, second] = requests.filter(({ path }) => path === `/${index}`);
    assert.ok(second !== undefined, form);
    // Tolerates one millisecond, because the two clocks are rounded separately.
    const earlyMs = (notBefore.get(second.path) ?? 0) - (startedAt + second.arrivedAtMs);
    assert.ok(earlyMs <= 1, `${form}: ${earlyMs} ms too early`);
  }
});

test("EDS-9.5-4 Retry-After: 0 leaves the choice to the schedule", async () => {
  await scene.addWebhook({
    retry: retrySchedule(400),
  });
  scene.react({ status: 503, headers: { "Retry-After": "0" } }, { status: 200 });
  await scene.publish();
  const [first, second] = await scene.receiver.waitForRequests(2);
  const gapMs = (second?.arrivedAtMs ?? 0) - (first?.arrivedAtMs ?? 0);
  assert.ok(gapMs >= 400, `${gapMs} ms`);
});

test("WDS-62 custom headers are in every request, with the given names and values", async () => {
  await scene.addWebhook({ headers: { "X-Custom-Header": "value" } });
  scene.react({ status: 500 }, { status: 200 });
  await scene.ended(await scene.publish());
  for (const { rawHeaders } of scene.receiver.requests) {
    const at = rawHeaders.indexOf("X-Custom-Header");
    assert.equal(rawHeaders[at + 1], "value");
  }
});

test("WDS-167 a webhook has at most five requests and connections at a time", async () => {
  await scene.addWebhook();
  // The response to the first request is withheld until the second one arrives, which proves that they are sent in
  // parallel.
  const isAnswered = Promise.withResolvers<Answer>();
  scene.receiver.script((_, index) => {
    if (index === 0) return isAnswered.promise;
    isAnswered.resolve({});
    return { delayMs: 60 };
  });
  await Promise.all(Array.from({ length: 20 }, () => scene.publish()));
  await scene.receiver.waitForRequests(20);
  assert.ok(scene.receiver.concurrencyPeak <= 5, `${scene.receiver.concurrencyPeak} at once`);
  assert.ok(scene.receiver.concurrencyPeak >= 2, "they were sent side by side");
  assert.ok(scene.receiver.connectionsOpen <= 5, `${scene.receiver.connectionsOpen} connections`);
});

test("TS16-43 TS16-52 TS16-53 TS16-54 metadata and links arrive as published, and nothing is added", async () => {
  await scene.addWebhook({ profile: "ts-16a" });
  const metadata = { total: 3 };
  const links = [{ rel: "self", method: "GET", href: "https://example.com/orders/1" }, {}];
  const data = { id: 1 };
  await scene.world.publish(scene.tenantId, { eventType: "order.created", data, metadata, links });
  await scene.world.publish(scene.tenantId, { eventType: "order.created", data });
  const bodies = (await scene.receiver.waitForRequests(2)).map(
    ({ text }) => JSON.parse(text) as Record<string, unknown>,
  );
  const full = bodies.find((body) => "metadata" in body);
  assert.deepEqual([full?.["metadata"], full?.["links"]], [metadata, links]);
  const plain = bodies.find((body) => !("metadata" in body));
  assert.deepEqual(Object.keys(plain ?? {}), ["type", "timestamp", "data"]);
});

test("TS16-122 an event is sent to every subscribed webhook, under one id", async () => {
  await scene.addWebhook({ url: scene.receiver.url("/first") });
  await scene.addWebhook({ url: scene.receiver.url("/second") });
  const eventId = await scene.publish();
  const requests = await scene.receiver.waitForRequests(2);
  assert.deepEqual(requests.map(({ path }) => path).toSorted(), ["/first", "/second"]);
  for (const { headers } of requests) assert.equal(headers["idempotency-key"], `"${eventId}"`);
});

test("TS16-51 a payload above 20,000 bytes is delivered, and counted as large", async () => {
  await scene.addWebhook();
  const before = scene.world.largePayloads.length;
  const publishBytes = (bytes: number) =>
    scene.world.publish(scene.tenantId, {
      eventType: "order.created",
      data: { text: "x".repeat(bytes - 11) },
    });
  await publishBytes(20_000);
  assert.equal(scene.world.largePayloads.length, before);
  await publishBytes(20_001);
  assert.deepEqual(scene.world.largePayloads.slice(before), [20_001]);
  await scene.receiver.waitForRequests(2);
});

test("CEW-3-4 a 401 with a challenge is a refusal, and the challenge is not answered", async () => {
  await scene.addWebhook();
  const challenge = 'Digest realm="x", nonce="abc", qop="auth"';
  scene.react({ status: 401, headers: { "WWW-Authenticate": challenge } });
  const { attempts } = await scene.ended(await scene.publish());
  assert.deepEqual([attempts.length, attempts[0]?.outcome], [1, "terminal"]);
  assert.equal(scene.receiver.requestCount, 1);
  assert.equal(scene.receiver.requests[0]?.headers.authorization, undefined);
});

/** Pauses of an endpoint after a single response, and their length. */
const pauses = [
  {
    ids: "CEW-2.2-10",
    profile: "cloudevents",
    answer: { status: 429, headers: { "Retry-After": "90" } },
    pauseReason: "retry_after",
    waitingFor: "retry_after",
    seconds: 90,
  },
  { ...ts16a("TS16-94", "rate_limit"), answer: { status: 429 }, seconds: 60 },
  { ...ts16a("TS16-91", "throttle"), answer: { status: 502 }, seconds: 5 },
  { ...ts16a("TS16-101", "failure"), answer: "close", seconds: 60 },
] as const;

function ts16a<Reason extends string>(ids: string, pauseReason: Reason) {
  return { ids, profile: "ts-16a", pauseReason, waitingFor: `${pauseReason}_pause` } as const;
}

for (const { ids, profile, answer, pauseReason, waitingFor, seconds } of pauses) {
  test(`${ids} ${profile}: after ${JSON.stringify(answer)} other events wait as well`, async () => {
    const webhook = await scene.addWebhook({ profile });
    scene.react(answer);
    const failed = await scene.publish();
    await eventually("the attempt is settled", {
      ask: () => scene.deliveryOf(failed),
      holds: ({ progress }) => progress.state === "failed",
    });
    const other = scene.world.engine.explain(await scene.deliveryOf(await scene.publish()));
    assert.equal(other.waitingFor, waitingFor);
    const live = scene.world.engine.webhook(webhook.id);
    assert.equal(live?.pauseReason, pauseReason);
    const leftMs = (live?.pausedUntil ?? 0) - Date.now();
    assert.ok(leftMs > seconds * 1_000 - 30_000 && leftMs <= seconds * 1_000, `${leftMs} ms`);
    assert.equal(scene.receiver.requestCount, 1);
  });
}
