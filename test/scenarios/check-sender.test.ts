import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { NothingToExamine } from "../../src/check/finding.ts";
import { checkSender, type CheckSenderOptions, senderRules } from "../../src/check/sender/check-sender.ts";
import { verifierFor } from "../../src/check/sender/verifier.ts";
import type { Profile, SignatureSchemeName } from "../../src/domain/profile.ts";
import { findProfile, profiles } from "../../src/domain/profiles/index.ts";
import { signatureSchemeKeys } from "../../src/domain/signing/schemes.ts";
import type { MessageVerifier } from "../../src/receiver/message/message.ts";
import { bearerToken, failuresOf, idsOf, keyId, secret } from "./check/examine.fixture.ts";
import { type Attempt, type SenderFault, sendTwoEvents } from "./check/sloppy-sender.fixture.ts";
import { type EngineWorld, openEngineWorld } from "./engine-world.fixture.ts";

function profileNamed(name: string): Profile {
  const profile = findProfile(name);
  if (profile === undefined) throw new Error(`there is no profile ${name}`);
  return profile;
}

interface Watched extends Partial<Omit<CheckSenderOptions, "signal">> {
  readonly send: (url: string) => Promise<unknown>;
  /** Ends the check once `send` has completed. For senders that do too little for a verdict. */
  readonly endsWithSending?: boolean;
}

/** Checks a sender that receives the URL as soon as the URL exists. */
async function watch(profile: Profile, { send, endsWithSending = false, ...others }: Watched) {
  const ended = new AbortController();
  let sending: Promise<unknown> = Promise.resolve();
  const findings = await checkSender({
    port: 0,
    profile,
    verifier: verifierFor(secret, profile, keyId),
    bearerToken: null,
    durationMs: 20_000,
    listening: (url) => {
      sending = send(url).finally(() => endsWithSending && ended.abort());
    },
    arrived: () => undefined,
    signal: ended.signal,
    ...others,
  });
  return { findings, sent: sending };
}

/** The secret and its webhook can be created only when the URL is known, so the verifier is created last. */
async function watchPosthorn(
  world: EngineWorld,
  { profile, scheme }: { readonly profile: Profile; readonly scheme: SignatureSchemeName },
) {
  const token = profile.registration.bearerTokenRequired ? bearerToken : null;
  let verifier: MessageVerifier | undefined;
  const watched = await watch(profile, {
    verifier: {
      verify: async (message, now) => (verifier ?? assert.fail("no webhook")).verify(message, now),
    },
    bearerToken: token,
    send: async (url) => {
      const { id } = await world.addWebhook(
        { url, events: ["check.*"], profile: profile.name, schemes: [scheme] },
        token === null ? {} : { bearer: token },
      );
      verifier = verifierFor(world.secretOf(id, signatureSchemeKeys[scheme]), profile, id);
      await world.publishMany("default", [
        { eventType: "check.one", data: { number: 1 } },
        { eventType: "check.two", data: { number: 2 } },
      ]);
    },
  });
  await watched.sent;
  return watched.findings;
}

suite("posthorn check --sender: Posthorn is a correct sender", { concurrency: 5 }, () => {
  for (const profile of profiles) {
    for (const scheme of profile.signatureSchemesAllowed) {
      test(`${profile.name}, signed with ${scheme}`, async () => {
        const world = await openEngineWorld();
        try {
          const findings = await watchPosthorn(world, { profile, scheme });
          assert.equal(failuresOf(findings), "");
          assert.deepEqual(idsOf(findings, "skipped"), []);
        } finally {
          await world.close();
        }
      });
    }
  }
});

interface PlantedFault extends SenderFault {
  readonly name: string;
  readonly fails: readonly string[];
  readonly skips?: readonly string[];
}

const always =
  (part: Partial<Attempt>) =>
  (attempt: Attempt): Attempt => ({ ...attempt, ...part });

const afterRetries = ["fresh-timestamp", "retry-after", "same-bytes", "same-names"];
const faults: readonly PlantedFault[] = [
  { name: "nothing wrong", fails: [] },
  { name: "no key", change: always({ key: null }), fails: ["idempotency-key"] },
  {
    name: "a key without quotes",
    change: (attempt) => ({ ...attempt, key: attempt.id }),
    fails: ["idempotency-key"],
  },
  { name: "one key for both events", change: always({ key: '"the-same"' }), fails: ["distinct-keys"] },
  {
    name: "another key in each attempt",
    change: (attempt, at) => ({ ...attempt, key: `"${attempt.id}-${at.attempt}"` }),
    fails: ["same-names"],
  },
  {
    name: "another message id in each attempt",
    change: (attempt, at) => ({ ...attempt, id: `${attempt.id}-${at.attempt}` }),
    fails: ["same-names"],
  },
  {
    name: "a period in the message id",
    change: (attempt) => ({ ...attempt, id: `msg.${attempt.id}` }),
    fails: ["message-id"],
    skips: ["signature"],
  },
  {
    name: "a stale timestamp",
    change: (attempt) => ({ ...attempt, timestamp: attempt.timestamp - 600 }),
    fails: ["timestamp"],
  },
  {
    name: "the timestamp of the first attempt",
    change: (() => {
      const first = new Map<string, number>();
      return (attempt: Attempt) => {
        const timestamp = first.get(attempt.id) ?? attempt.timestamp;
        first.set(attempt.id, timestamp);
        return { ...attempt, timestamp };
      };
    })(),
    fails: ["fresh-timestamp"],
  },
  {
    name: "a wrong signature",
    change: always({ signature: () => `v1,${Buffer.alloc(32).toString("base64")}` }),
    fails: ["signature"],
  },
  {
    name: "a body that changes between attempts",
    change: (attempt, at) => ({
      ...attempt,
      body: JSON.stringify({ type: "check.test", attempt: at.attempt }),
    }),
    fails: ["same-bytes"],
  },
  { name: "retries too early", waitMs: () => 1_200, fails: ["retry-after"] },
  { name: "follows redirects", followsRedirects: true, fails: ["redirect"] },
  { name: "gives up at once", waitMs: () => null, fails: ["retries"], skips: afterRetries },
  { name: "GET", change: always({ method: "GET" }), fails: ["method"] },
  { name: "an empty body", change: always({ body: "" }), fails: ["body"] },
  { name: "no Content-Type", change: always({ contentType: null }), fails: ["content-type"] },
  { name: "a body that is not JSON as it says", change: always({ body: "<x/>" }), fails: ["content-type"] },
];

suite("posthorn check --sender: a fault fails only its own rule", { concurrency: 20 }, () => {
  for (const { name, fails, skips = [], ...fault } of faults) {
    test(name, async () => {
      const { findings, sent } = await watch(profileNamed("standard"), {
        endsWithSending: fails.includes("retries"),
        send: (url) => sendTwoEvents(url, fault),
      });
      await sent;
      assert.deepEqual(idsOf(findings, "failed"), fails, failuresOf(findings));
      assert.deepEqual(idsOf(findings, "skipped"), skips);
    });
  }
});

suite("posthorn check --sender: options", { concurrency: 5 }, () => {
  const standard = profileNamed("standard");

  test("without a secret signatures are skipped, unless there are none", async () => {
    const unsigned = await watch(standard, {
      verifier: null,
      send: (url) => fetch(url, { method: "POST" }),
      endsWithSending: true,
    });
    assert.ok(idsOf(unsigned.findings, "failed").includes("signature"));
    const signed = await watch(standard, { verifier: null, send: (url) => sendTwoEvents(url, {}) });
    assert.deepEqual(idsOf(signed.findings, "skipped"), ["signature"]);
    assert.equal(failuresOf(signed.findings), "");
  });

  test("with one event the rules about two stay undecided", async () => {
    const { findings } = await watch(standard, {
      send: (url) => fetch(url, { method: "POST", body: "{}" }),
      endsWithSending: true,
    });
    assert.deepEqual(idsOf(findings, "skipped"), [...afterRetries, "distinct-keys", "redirect"].toSorted());
  });

  test("no request at all is one failure, not one for each rule", async () => {
    await assert.rejects(
      watch(standard, { send: async () => undefined, endsWithSending: true }),
      NothingToExamine,
    );
  });

  test("a missing or wrong token", async () => {
    const { findings } = await watch(standard, { bearerToken, send: (url) => sendTwoEvents(url, {}) });
    assert.deepEqual(idsOf(findings, "failed"), ["bearer-token"]);
    assert.ok(!JSON.stringify(findings).includes(bearerToken));
  });

  test("every rule that can fail has a planted fault", () => {
    const found = new Set(faults.flatMap(({ fails }) => fails));
    const withoutFault = senderRules.map(({ id }) => id).filter((id) => !found.has(id));
    assert.deepEqual(withoutFault, ["headers", "bearer-token"]);
  });
});
