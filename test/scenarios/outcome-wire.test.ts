/** The same outcomes over real sockets for every profile: the receiver's response and its consequences. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { FailureCategory, Outcome } from "../../src/domain/classify.ts";
import type { Profile } from "../../src/domain/profile.ts";
import { profiles } from "../../src/domain/profiles/index.ts";
import { selfSignedPair } from "../peers/certificates.ts";
import {
  answering,
  answeringThenClosing,
  answeringThenResetting,
  type Behaviour,
  behaviours,
  type HostileReceiver,
  startHostileReceiver,
} from "../peers/hostile-receiver.ts";
import { type Receiver, startReceiver } from "../peers/receiver.ts";
import { hourMs, type Observed, openOutcomeBench, type OutcomeBench } from "./outcome-bench.fixture.ts";

let bench: OutcomeBench;
let receiver: Receiver;
const peers: HostileReceiver[] = [];

before(async () => {
  bench = await openOutcomeBench();
  receiver = await startReceiver();
  // The path determines the response: /503, or /503/Retry-After/7.
  receiver.script(({ path }) => {
    const [, status = "200", name, value = ""] = path.split("/").map(decodeURIComponent);
    return { status: Number(status), ...(name !== undefined && { headers: { [name]: value } }) };
  });
});
after(async () => {
  await bench.close();
  await receiver.close();
  await Promise.all(peers.map((peer) => peer.close()));
});

const named = (name: string): Profile => profiles.find((profile) => profile.name === name) as Profile;
const answered = (profile: Profile, path: string | number): Promise<Observed> =>
  bench.observe(profile, { url: receiver.url(`/${path}`) });

/** Checks the outcome, the category and the resulting next step. */
function assertObserved(
  { attempt, delivery, webhookStatus }: Observed,
  expected: { readonly outcome: Outcome; readonly category: FailureCategory | null; readonly what: string },
): void {
  const { outcome, category, what } = expected;
  assert.deepEqual([attempt.outcome, attempt.category], [outcome, category], what);
  const { state, reason, dueAt } = delivery.progress;
  assert.equal(state, { accepted: "success", transient: "failed", terminal: "exhausted" }[outcome], what);
  if (outcome === "transient") {
    assert.ok(Math.abs(dueAt - attempt.executedAt - hourMs) < 60_000, `${what}: due at ${dueAt}`);
    assert.equal(webhookStatus, "active", what);
  }
  if (outcome === "terminal") assert.match(reason ?? "", /^permanent_/, what);
}

interface Row {
  readonly ids: string;
  readonly profile: string;
  readonly statuses: readonly number[];
  readonly outcome: Outcome;
  readonly category: FailureCategory | null;
}

const accepted = { outcome: "accepted", category: null } as const;
const terminal = { outcome: "terminal", category: "client_error" } as const;
const retried = (category: FailureCategory) => ({ outcome: "transient", category }) as const;
const eds = { profile: "event-delivery" } as const;
const ts16 = { profile: "ts-16a" } as const;
const wds = { profile: "x-webhook" } as const;

const rows: readonly Row[] = [
  { ids: "EDS-9.2.1-1 EDS-9.2.1-5", ...eds, statuses: [203, 205, 206, 208, 226, 299], ...accepted },
  { ids: "EDS-9.2.1-2", ...eds, statuses: [200, 201, 202, 204], ...accepted },
  { ids: "EDS-9.2.1-3", ...eds, statuses: [207], ...retried("protocol") },
  { ids: "EDS-9.2.2-1", ...eds, statuses: [408], ...retried("timeout") },
  { ids: "EDS-9.2.2-2", ...eds, statuses: [421], ...retried("client_error") },
  { ids: "EDS-9.2.2-3", ...eds, statuses: [425], ...retried("client_error") },
  { ids: "EDS-9.2.2-5", ...eds, statuses: [500], ...retried("server_error") },
  { ids: "EDS-9.2.2-6", ...eds, statuses: [502], ...retried("server_error") },
  { ids: "EDS-9.2.2-8", ...eds, statuses: [504], ...retried("server_error") },
  { ids: "EDS-9.2.2-9", ...eds, statuses: [511], ...retried("server_error") },
  { ids: "EDS-9.2.2-10", ...eds, statuses: [501, 505, 507, 508, 599], ...retried("server_error") },
  { ids: "EDS-9.2.3-1", ...eds, statuses: [400], ...terminal },
  { ids: "EDS-9.2.3-2", ...eds, statuses: [401], ...terminal },
  { ids: "EDS-9.2.3-4", ...eds, statuses: [403], ...terminal },
  { ids: "EDS-9.2.3-5", ...eds, statuses: [404], ...terminal },
  { ids: "EDS-9.2.3-6", ...eds, statuses: [405], ...terminal },
  { ids: "EDS-9.2.3-7", ...eds, statuses: [410], ...terminal },
  { ids: "EDS-9.2.3-9", ...eds, statuses: [413], outcome: "terminal", category: "payload_too_large" },
  { ids: "EDS-9.2.3-10", ...eds, statuses: [414], ...terminal },
  { ids: "EDS-9.2.3-11", ...eds, statuses: [415], ...terminal },
  { ids: "EDS-9.2.3-12", ...eds, statuses: [422], ...terminal },
  { ids: "EDS-9.2.3-13", ...eds, statuses: [451], ...terminal },
  {
    ids: "EDS-9.2.3-15",
    ...eds,
    statuses: [402, 406, 409, 411, 412, 417, 418, 423, 424, 426, 428, 431, 499],
    ...terminal,
  },
  { ids: "TS16-89", ...ts16, statuses: [200, 201, 202, 204, 207, 226, 299], ...accepted },
  { ids: "TS16-90", ...ts16, statuses: [500, 501, 502, 503, 504, 511, 599], ...retried("server_error") },
  { ids: "TS16-95", ...ts16, statuses: [400, 401, 403, 405, 409, 422, 451], ...retried("client_error") },
  { ids: "TS16-96", ...ts16, statuses: [300, 302, 304, 399], ...retried("redirect") },
  { ids: "TS16-96", ...ts16, statuses: [600, 700, 999], ...retried("protocol") },
  { ids: "WDS-125 WDS-72", ...wds, statuses: [400, 401, 403, 404, 410, 414, 415, 451], ...terminal },
  { ids: "WDS-125 WDS-72", ...wds, statuses: [413], outcome: "terminal", category: "payload_too_large" },
  { ids: "WDS-129 WDS-72", ...wds, statuses: [429], ...retried("rate_limit") },
  { ids: "WDS-130 WDS-72", ...wds, statuses: [500, 501, 502, 503, 504, 599], ...retried("server_error") },
  { ids: "WDS-131", ...wds, statuses: [200, 201, 202, 204, 207, 299], ...accepted },
  { ids: "WDS-133", ...wds, statuses: [301, 302, 307, 308], ...retried("redirect") },
  { ids: "WDS-133", ...wds, statuses: [402, 405, 406, 409, 421, 422, 425], ...retried("client_error") },
];

suite("statuses on the wire", { concurrency: 8 }, () => {
  for (const { ids, profile, statuses, outcome, category } of rows) {
    test(`${ids} ${profile}: ${statuses.join(", ")} is ${outcome}`, async () => {
      const all = statuses.map(async (status) => {
        const what = `${profile} ${status}`;
        assertObserved(await answered(named(profile), status), { outcome, category, what });
      });
      await Promise.all(all);
    });
  }

  test("standard and cloudevents are patient with endpoints and strict with payloads", async () => {
    for (const profile of [named("standard"), named("cloudevents")]) {
      const expect = async (statuses: readonly number[], outcome: Outcome): Promise<void> => {
        for (const status of statuses)
          assert.equal(
            (await answered(profile, status)).attempt.outcome,
            outcome,
            `${profile.name} ${status}`,
          );
      };
      await expect([200, 202, 204, 299], "accepted");
      await expect([207, 302, 401, 403, 404, 405, 409, 500, 511], "transient");
      await expect([400, 410, 413, 414, 415, 422, 431, 451], "terminal");
    }
  });
});

suite("consequences of responses", { concurrency: 8 }, () => {
  test("EDS-9.2.2-4 EDS-9.2.2-7 TS16-110 Retry-After of a 429 and a 503 is respected", async () => {
    for (const profile of profiles) {
      for (const status of [429, 503]) {
        const { attempt, delivery } = await answered(profile, `${status}/Retry-After/7200`);
        assert.equal(attempt.outcome, "transient");
        const waitMs = delivery.progress.dueAt - attempt.executedAt;
        assert.ok(waitMs >= 2 * hourMs - 1_000, `${profile.name} ${status}: due after ${waitMs} ms`);
      }
    }
  });

  test("EDS-6.2-4 Retry-After does not make a terminal response transient, nor does it pause the webhook", async () => {
    const retryAfters = ["1", "7200", encodeURIComponent(new Date(Date.now() + hourMs).toUTCString())];
    for (const name of ["standard", "cloudevents", "event-delivery", "x-webhook"]) {
      for (const retryAfter of retryAfters) {
        for (const status of [400, 415]) {
          const what = `${name} ${status} Retry-After: ${retryAfter}`;
          const { attempt, delivery, pausedUntil } = await answered(
            named(name),
            `${status}/Retry-After/${retryAfter}`,
          );
          assert.equal(attempt.outcome, "terminal", what);
          assert.equal(delivery.progress.state, "exhausted", what);
          assert.match(delivery.progress.reason ?? "", /^permanent_/, what);
          assert.equal(delivery.progress.attemptCount, 1, what);
          assert.equal(pausedUntil, null, what);
        }
      }
    }
  });

  test("EDS-9.5-2 a Retry-After in seconds or milliseconds since 1970 is a time and not a delay", async () => {
    for (const unit of [1_000, 1]) {
      const at = Math.floor((Date.now() + 2 * hourMs) / unit);
      const { attempt, delivery } = await answered(named("standard"), `503/Retry-After/${at}`);
      assert.equal(delivery.progress.state, "failed");
      const waitMs = delivery.progress.dueAt - attempt.executedAt;
      assert.ok(Math.abs(waitMs - 2 * hourMs) < 60_000, `due after ${waitMs} ms`);
    }
  });

  test("EDS-9.2.3-8 410 suspends the webhook if its profile says so, and the next event is not sent", async () => {
    for (const profile of profiles) {
      const webhook = await bench.addWebhook(profile, { url: receiver.url("/410/Cache-Control/no-store") });
      const publish = (): Promise<string> =>
        bench.world.publish("default", { eventType: webhook.events[0] ?? "", data: { n: 1 } });
      await publish();
      await bench.delivery(webhook, ({ progress }) => progress.attemptCount === 1);
      const suspends = ["standard", "cloudevents", "event-delivery"].includes(profile.name);
      const second = await publish();
      const next = await bench.delivery(webhook, ({ eventId, progress }) => {
        return eventId === second && progress.state !== "pending";
      });
      assert.equal(next.progress.state === "skipped", suspends, profile.name);
      assert.equal(next.progress.attemptCount, suspends ? 0 : 1, profile.name);
    }
  });

  test("EDS-9.2.3-16 after the time in Sunset the next failure is the last, in event-delivery only", async () => {
    const past = encodeURIComponent(new Date(Date.now() - hourMs).toUTCString());
    for (const profile of profiles) {
      const { attempt } = await answered(profile, `503/Sunset/${past}`);
      const expected = profile.name === "event-delivery" ? "terminal" : "transient";
      assert.equal(attempt.outcome, expected, profile.name);
    }
  });

  test("EDS-9.3-3 the retry after a 408 or 504 carries the same key and body", async () => {
    for (const status of [408, 504]) {
      const flaky = await startReceiver();
      flaky.script((_, index) => ({ status: index === 0 ? status : 200 }));
      const { delivery } = await bench.observe(named("event-delivery"), { url: flaky.url(), delaysMs: [20] });
      const [first, second] = await flaky.waitForRequests(2);
      assert.ok(first?.headers["idempotency-key"] !== undefined);
      assert.equal(first.headers["idempotency-key"], `"${delivery.eventId}"`);
      assert.equal(second?.headers["idempotency-key"], first.headers["idempotency-key"]);
      assert.ok(second?.body.equals(first.body));
      await flaky.close();
    }
  });

  test("WDS-128 a bad certificate is tried three times by x-webhook, then dead-lettered", async () => {
    const peer = await hostile(() => {}, { tls: selfSignedPair });
    const target = { url: `${peer.origin}/`, delaysMs: [10, 10, 10, 10, 10] };
    const webhook = await bench.addWebhook(named("x-webhook"), target);
    await bench.world.publish("default", { eventType: webhook.events[0] ?? "", data: { n: 1 } });
    const { progress } = await bench.delivery(webhook, ({ progress: { state } }) => state === "exhausted");
    assert.equal(progress.attemptCount, 3);
    assert.equal(progress.reason, "permanent_ssl_error_retry_limit");
    assert.equal(peer.bytesReceived, 0);
  });

  test("TS16-97 CEW-2.2-3 no profile follows a redirect", async () => {
    const elsewhere = await startReceiver();
    for (const profile of profiles) {
      for (const status of [301, 302, 303, 307, 308]) {
        const location = encodeURIComponent(elsewhere.url("/"));
        assertObserved(await answered(profile, `${status}/Location/${location}`), {
          ...retried("redirect"),
          what: `${profile.name} ${status}`,
        });
      }
    }
    assert.equal(elsewhere.connectionCount, 0);
    await elsewhere.close();
  });
});

const head = (status: number, more = ""): string =>
  `HTTP/1.1 ${status} Said\r\nContent-Length: 0\r\n${more}\r\n`;

suite("bodies and interim responses", { concurrency: 8 }, () => {
  test("EDS-9.2.1-6 EDS-9.2.5-2 the body of a response changes nothing", async () => {
    const problem = '{"type":"about:blank","status":503}';
    const withBody = (status: number, body: string): string =>
      `HTTP/1.1 ${status} Said\r\nContent-Type: application/problem+json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const cases: readonly (readonly [string, Outcome])[] = [
      [head(200), "accepted"],
      [withBody(200, "done"), "accepted"],
      ["HTTP/1.1 204 No Content\r\n\r\n", "accepted"],
      [withBody(202, problem), "accepted"],
      [withBody(422, problem), "terminal"],
      [withBody(503, '{"status":422}'), "transient"],
    ];
    for (const [bytes, outcome] of cases) {
      const peer = await hostile(answering(bytes));
      const { attempt } = await bench.observe(named("event-delivery"), { url: peer.origin });
      assert.equal(attempt.outcome, outcome, bytes);
    }
  });

  test("EDS-9.2.4-1 interim responses are skipped: only the final status counts", async () => {
    for (const profile of profiles) {
      const interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n";
      const peer = await hostile(answering(interim + head(200)));
      const { attempt, delivery } = await bench.observe(profile, { url: peer.origin });
      assert.deepEqual([attempt.outcome, attempt.statusCode], ["accepted", 200], profile.name);
      assert.equal(delivery.progress.attemptCount, 1);
    }
  });

  test("EDS-9.3-2 a truncated response is transient, or is judged by its status line, depending on the profile", async () => {
    const short = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789";
    for (const behave of [answeringThenClosing(short), answeringThenResetting(short)]) {
      for (const profile of profiles) {
        const peer = await hostile(behave);
        const { attempt } = await bench.observe(profile, { url: peer.origin });
        const byStatus = ["ts-16a", "x-webhook"].includes(profile.name);
        assert.equal(attempt.outcome, byStatus ? "accepted" : "transient", profile.name);
        assert.equal(attempt.receiverStateUnknown, !byStatus, profile.name);
      }
    }
  });
});

interface Failure {
  readonly name: string;
  /** The requirement that this case proves under x-webhook. */
  readonly ids?: string;
  readonly category: FailureCategory;
  readonly requestSent: boolean;
  readonly behave?: Behaviour;
  readonly tls?: typeof selfSignedPair;
  readonly url?: () => Promise<string>;
}

const failures: readonly Failure[] = [
  { name: "refused", ids: "WDS-127 WDS-72", category: "network", requestSent: false, url: closedPort },
  {
    name: "reset at accept",
    ids: "WDS-127",
    category: "network",
    requestSent: true,
    behave: behaviours.resetAtAccept,
  },
  {
    name: "reset before the response",
    ids: "WDS-127",
    category: "network",
    requestSent: true,
    behave: behaviours.resetBeforeAnswer,
  },
  {
    name: "closed before the response",
    ids: "WDS-127",
    category: "network",
    requestSent: true,
    behave: behaviours.closeBeforeAnswer,
  },
  {
    name: "hang",
    ids: "WDS-132 WDS-72",
    category: "timeout",
    requestSent: true,
    behave: behaviours.hangAfterRequest,
  },
  {
    name: "bad certificate",
    ids: "WDS-72",
    category: "ssl",
    requestSent: false,
    behave: () => {},
    tls: selfSignedPair,
  },
  {
    name: "NXDOMAIN",
    ids: "WDS-127 WDS-213 WDS-72",
    category: "dns",
    requestSent: false,
    url: async () => "http://nowhere.invalid/",
  },
  {
    name: "half a status line",
    ids: "WDS-127",
    category: "network",
    requestSent: true,
    behave: answeringThenClosing("HTTP/1.1 2"),
  },
  {
    name: "no HTTP at all",
    category: "protocol",
    requestSent: true,
    behave: answering("SSH-2.0-hello\r\n\r\n"),
  },
];

suite("failures on the wire", { concurrency: 4 }, () => {
  for (const profile of profiles) {
    for (const { name, ids, category, requestSent, behave, tls, url } of failures) {
      test(`${failureIds(profile, ids)} ${profile.name}: ${name} is transient, ${category}, and retried`, async () => {
        const target =
          url === undefined ? (await hostile(behave ?? (() => {}), { tls })).origin : await url();
        // Tests of timeouts must not use the additional time for a busy machine.
        const timeoutMs = category === "timeout" ? 400 : 20_000;
        const observed = await bench.observe(profile, { url: target, timeoutMs });
        assertObserved(observed, { ...retried(category), what: observed.attempt.errorMessage ?? name });
        // If the receiver resets at accept, it depends on the kernel whether the bytes were sent.
        if (name !== "reset at accept") assert.equal(observed.attempt.receiverStateUnknown, requestSent);
        assert.equal(observed.attempt.statusCode, null);
      });
    }
  }
});

function failureIds({ name }: Profile, ids: string | undefined): string {
  return (name === "x-webhook" ? ids : undefined) ?? "EDS-8-1 EDS-9.3-1";
}

async function closedPort(): Promise<string> {
  const gone = await startReceiver();
  const url = gone.url();
  await gone.close();
  return url;
}

async function hostile(
  behave: Behaviour,
  { tls }: { readonly tls?: typeof selfSignedPair | undefined } = {},
): Promise<HostileReceiver> {
  const peer = await startHostileReceiver({ behave, ...(tls !== undefined && { tls }) });
  peers.push(peer);
  return peer;
}
