/**
 * The meaning of each status and failure in every profile. The engine's result, the published table and the
 * hand-written requirements must agree, so a mistake in any of them is detected.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  type AttemptObservation,
  type Outcome,
  type TransportFailureCategory,
  type Verdict,
  classify,
  judge,
} from "../../src/domain/classify.ts";
import type { Profile } from "../../src/domain/profile.ts";
import { findProfile, profiles } from "../../src/domain/profiles/index.ts";
import { openStandIn, type StandIn } from "../api/stand-in/open.fixture.ts";
import { createClient } from "./api/client.fixture.ts";

/** The response of `GET /v1/profiles/{name}`, as a client parses it. */
interface Published {
  readonly classification: {
    readonly statuses: Readonly<Record<string, Rule>>;
    readonly classes: Readonly<Record<string, Rule>>;
    readonly fallback: Rule;
    readonly incomplete_response: string;
    readonly failures: Readonly<Record<string, Rule>>;
  };
  readonly attempts_max_by_category: Readonly<Record<string, number>>;
  readonly sunset: string;
}

interface Rule {
  readonly outcome: string;
  readonly category?: string;
  readonly attention?: string;
  readonly receiver_state_unknown?: boolean;
}

const statuses = Array.from({ length: 500 }, (_, index) => 100 + index);
const failures: readonly TransportFailureCategory[] = ["timeout", "network", "dns", "ssl", "protocol"];

let server: StandIn;
const published = new Map<string, Published>();

before(async () => {
  server = await openStandIn();
  const client = createClient({ baseUrl: server.baseUrl, key: server.adminKey });
  for (const { name } of profiles) {
    const reply = await client.get(`/v1/profiles/${name}`);
    published.set(name, reply.body as unknown as Published);
  }
});
after(() => server.close());

for (const profile of profiles) {
  const readable = (): Published => published.get(profile.name) as Published;

  test(`EDS-9.2-2 every status has its published meaning under ${profile.name}`, () => {
    const { statuses: exact, classes, fallback, incomplete_response } = readable().classification;
    for (const status of statuses) {
      const rule = exact[String(status)] ?? classes[String(status)[0] ?? ""] ?? fallback;
      assertRule(classify(response(status), profile), { rule, what: `${status}` });
      const broken = classify({ ...response(status), complete: false }, profile);
      if (incomplete_response === "by_status") assertRule(broken, { rule, what: `broken ${status}` });
      else
        assert.deepEqual(
          [broken.outcome, broken.receiverStateUnknown],
          ["transient", true],
          `broken ${status}`,
        );
    }
  });

  test(`EDS-9.2-2 every failure has its published meaning under ${profile.name}`, () => {
    for (const category of failures) {
      const rule = readable().classification.failures[category] as Rule;
      for (const requestSent of [false, true]) {
        const verdict = classify({ kind: "failure", category, requestSent }, profile);
        assertRule(verdict, { rule: { ...rule, receiver_state_unknown: requestSent }, what: category });
      }
    }
  });

  test(`EDS-9.2-2 limits by category and the Sunset header end a delivery under ${profile.name} as published`, () => {
    const { attempts_max_by_category: limits, sunset } = readable();
    const observations = [
      ...statuses.map(response),
      ...failures.map((category) => ({ kind: "failure", category, requestSent: true }) as const),
    ];
    for (const observation of observations) {
      const verdict = classify(observation, profile);
      for (const attemptNumber of [1, 2, 3, 4]) {
        for (const sunsetAt of [null, 999, 1_001]) {
          const judged = judge(verdict, attemptNumber, sunsetAt, 1_000, profile);
          const isLast =
            attemptNumber >= (limits[verdict.category ?? ""] ?? Infinity) ||
            (sunset === "terminal" && sunsetAt === 999);
          const expected = verdict.outcome === "transient" && isLast ? "terminal" : verdict.outcome;
          assert.equal(judged.outcome, expected, JSON.stringify({ observation, attemptNumber, sunsetAt }));
        }
      }
    }
  });
}

function response(status: number): Extract<AttemptObservation, { kind: "response" }> {
  return { kind: "response", status, complete: true };
}

function assertRule(verdict: Verdict, { rule, what }: { readonly rule: Rule; readonly what: string }): void {
  const { outcome, category, attention, receiverStateUnknown } = verdict;
  assert.deepEqual(
    { outcome, category, attention, receiverStateUnknown },
    {
      outcome: rule.outcome,
      category: rule.category,
      attention: rule.attention,
      receiverStateUnknown: rule.receiver_state_unknown === true,
    },
    what,
  );
}

// ---- written by hand from the documents -----------------------------------------------------------------------------

const from = (first: number, last: number): readonly number[] =>
  statuses.filter((status) => status >= first && status <= last);
const but = (all: readonly number[], ...without: readonly number[]): readonly number[] =>
  all.filter((status) => !without.includes(status));

/** Accepted and terminal statuses of each profile. All others are transient. */
const expectations: Readonly<Record<string, Readonly<Record<"accepted" | "terminal", readonly number[]>>>> = {
  standard: {
    accepted: but(from(200, 299), 207),
    terminal: [400, 410, 413, 414, 415, 422, 431, 451],
  },
  cloudevents: {
    accepted: but(from(200, 299), 207),
    terminal: [400, 410, 413, 414, 415, 422, 431, 451],
  },
  "event-delivery": {
    accepted: but(from(200, 299), 207),
    terminal: but(from(400, 499), 408, 421, 425, 429),
  },
  "ts-16a": { accepted: from(200, 299), terminal: [] },
  "x-webhook": { accepted: from(200, 299), terminal: [400, 401, 403, 404, 410, 413, 414, 415, 451] },
};

test("every profile accepts and dead-letters exactly the statuses that the documents name", () => {
  assert.deepEqual(Object.keys(expectations).toSorted(), profiles.map(({ name }) => name).toSorted());
  for (const [name, { accepted, terminal }] of Object.entries(expectations)) {
    assert.deepEqual(statusesWith(name, "accepted"), accepted, name);
    assert.deepEqual(statusesWith(name, "terminal"), terminal, name);
  }
});

test("EDS-8-1 WDS-127 every missing response is transient in every profile", () => {
  for (const profile of profiles) {
    for (const category of failures) {
      for (const requestSent of [false, true])
        assert.equal(classify({ kind: "failure", category, requestSent }, profile).outcome, "transient");
    }
  }
});

test("EDS-9.3-2 a truncated response is transient with unknown state, unless the status line decides", () => {
  for (const name of ["standard", "event-delivery", "cloudevents"]) {
    for (const status of [200, 204, 400, 410, 500]) {
      const { outcome, receiverStateUnknown } = classify(
        { ...response(status), complete: false },
        named(name),
      );
      assert.deepEqual([outcome, receiverStateUnknown], ["transient", true], `${name} ${status}`);
    }
  }
  for (const name of ["ts-16a", "x-webhook"])
    assert.equal(classify({ ...response(200), complete: false }, named(name)).outcome, "accepted");
});

test("EDS-9.2.2-1 EDS-9.2.2-8 after 408 and 504 it is unknown whether the request was processed", () => {
  for (const profile of profiles) {
    for (const status of [408, 504])
      assert.equal(classify(response(status), profile).receiverStateUnknown, true);
    for (const status of [429, 500, 503])
      assert.equal(classify(response(status), profile).receiverStateUnknown, false);
  }
});

test("TS16-95 in ts-16a every 4xx without its own rule is retried and logged", () => {
  for (const status of but(from(400, 499), 404, 410, 429)) {
    const { outcome, attention } = classify(response(status), named("ts-16a"));
    assert.deepEqual([outcome, attention], ["transient", "warn"], `${status}`);
  }
});

test("404 notifies the owner in standard and ts-16a", () => {
  for (const name of ["standard", "ts-16a"])
    assert.equal(classify(response(404), named(name)).attention, "notify");
});

test("TS16-96 1xx, 3xx and codes beyond all classes are transient in ts-16a", () => {
  for (const status of [...from(100, 199), ...from(300, 399), 0, 600, 700, 999])
    assert.equal(classify(response(status), named("ts-16a")).outcome, "transient", `${status}`);
});

test("WDS-125 WDS-129 WDS-130 WDS-131 WDS-132 the reasons of x-webhook are those of the document", () => {
  const reason = (observation: AttemptObservation): string =>
    classify(observation, named("x-webhook")).reason;
  for (const status of [400, 401, 403, 404, 410, 413, 414, 415, 451])
    assert.equal(reason(response(status)), `permanent_client_error_${status}`);
  assert.equal(reason(response(429)), "rate_limited");
  for (const status of [500, 502, 503, 504, 599])
    assert.equal(reason(response(status)), `server_error_${status}`);
  for (const status of [200, 207, 299]) assert.equal(reason(response(status)), "success");
  assert.equal(reason({ kind: "failure", category: "timeout", requestSent: true }), "timeout");
});

test("WDS-128 x-webhook tries a broken TLS setup at most three times", () => {
  const profile = named("x-webhook");
  const verdict = classify({ kind: "failure", category: "ssl", requestSent: false }, profile);
  const judged = [1, 2, 3].map((attemptNumber) => judge(verdict, attemptNumber, null, 0, profile));
  assert.deepEqual(
    judged.map(({ outcome }) => outcome),
    ["transient", "transient", "terminal"],
  );
  assert.match(judged[2]?.reason ?? "", /ssl_error_retry_limit$/);
});

test("WDS-133 everything else is retried cautiously in x-webhook", () => {
  for (const status of [...from(100, 199), ...from(300, 399), 402, 405, 406, 408, 409, 421, 422, 425, 431])
    assert.deepEqual(meant(response(status)), ["transient", "unknown_error"], `${status}`);
});

test("WDS-127 WDS-128 x-webhook reports connection failures with the document's names", () => {
  const failed = (category: "network" | "dns" | "ssl" | "protocol") =>
    meant({ kind: "failure", category, requestSent: false });
  assert.deepEqual(failed("dns"), ["transient", "retryable_network_dns_failure"]);
  assert.deepEqual(failed("network"), ["transient", "retryable_network_connection_failed"]);
  assert.deepEqual(failed("ssl"), ["transient", "ssl_error"]);
  assert.deepEqual(failed("protocol"), ["transient", "unknown_error"]);
});

/** The outcome and the reason under x-webhook. */
function meant(observation: AttemptObservation): readonly string[] {
  const { outcome, reason } = classify(observation, named("x-webhook"));
  return [outcome, reason];
}

function statusesWith(name: string, outcome: Outcome): readonly number[] {
  return statuses.filter((status) => classify(response(status), named(name)).outcome === outcome);
}

function named(name: string): Profile {
  const profile = findProfile(name);
  assert.ok(profile !== undefined, name);
  return profile;
}
