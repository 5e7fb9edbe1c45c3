/** Behaviour that is the same for every provider: only correctly signed messages are accepted. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { unicodeText } from "../../../test/services/unicode-text.fixture.ts";
import { webUrls } from "../../../test/services/web-urls.fixture.ts";
import type { ReceivedMessage, Verification } from "../message/message.ts";
import { createWebCrypto } from "../crypto/default-crypto.ts";
import { ReceiverError } from "../receiver-error.ts";
import { providers } from "../verifiers.ts";
import { bindProviders, providerTable } from "./index.ts";
import { moreSenders } from "./more-senders.fixture.ts";
import { senders as firstSenders } from "./senders.fixture.ts";
import type { Sender } from "./senders.fixture.ts";

const senders = [...firstSenders, ...moreSenders].toSorted((a, b) => (a.name < b.name ? -1 : 1));
/** These put the signature inside the body. */
const withoutHeaders = ["adyen", "mailchimp", "mailgun", "microsoft_graph"];
/** These authenticate the sender but do not protect the body. */
const withoutBodyProof = ["mailchimp"];

const now = { nowSeconds: 1_800_000_000 };
const webProviders = bindProviders(createWebCrypto(globalThis.crypto.subtle));

type Accepted = Extract<Verification, { kind: "verified" }>;

/** If the cryptography is synchronous, the result must be synchronous too. */
function answerOf(sender: Sender, message: ReceivedMessage, keys: readonly (0 | 1)[] = [0]): Verification {
  const answer = sender.verifier(providers, keys).verify(message, now);
  if (answer instanceof Promise) assert.fail("a promise, although nothing has to be waited for");
  return answer;
}

function causeOf(sender: Sender, message: ReceivedMessage, keys?: readonly (0 | 1)[]): string {
  const answer = answerOf(sender, message, keys);
  return answer.kind === "rejected" ? answer.cause : answer.kind;
}

/** A message of this age, signed with the first key. */
function messageFrom(
  sender: Sender,
  { ageSeconds = 0, key = 0 }: { readonly ageSeconds?: number; readonly key?: 0 | 1 } = {},
): ReceivedMessage {
  return sender.message({ body: sender.body, timestampSeconds: now.nowSeconds - ageSeconds, key });
}

test("every provider is in the table, and has a sender in these tests", () => {
  const names = providerTable.map(({ name }) => name);
  assert.deepEqual(names, names.toSorted());
  assert.deepEqual(
    names,
    senders.map(({ name }) => name),
  );
  const functions = Object.keys(providers).filter((name) => name !== "zoomUrlValidation");
  assert.deepEqual(functions, names);
  for (const { documentation } of providerTable) assert.equal(new URL(documentation).protocol, "https:");
});

for (const sender of senders) {
  suite(sender.name, () => {
    test("messages signed by the provider are verified, synchronously and with promises", async () => {
      const expected: Verification = {
        kind: "verified",
        scheme: sender.name,
        producer: sender.name,
        messageId: sender.messageId,
        timestampSeconds: sender.isTimed ? now.nowSeconds : null,
      };
      const message = messageFrom(sender);
      const { replayId, ...answer } = answerOf(sender, message) as Accepted;
      assert.deepEqual(answer, expected);
      // Receivers must be able to tell a replay within the tolerance from a new message. A message without an ID
      // therefore gets a replay ID.
      assert.equal(replayId !== undefined, sender.isTimed && sender.messageId === null);
      const later = sender.verifier(webProviders, [0]).verify(message, now);
      assert.ok(later instanceof Promise);
      assert.deepEqual(await later, { ...expected, ...(replayId !== undefined && { replayId }) });
    });

    test("during a rotation each of the keys is accepted, and no other", () => {
      for (const key of [0, 1] as const) {
        assert.equal(causeOf(sender, messageFrom(sender, { key }), [1, 0]), "verified");
        assert.equal(
          causeOf(sender, messageFrom(sender, { key }), [0]),
          key === 0 ? "verified" : "no_matching_signature",
        );
      }
    });

    test("one changed byte in the body is detected", { skip: withoutBodyProof.includes(sender.name) }, () => {
      const message = messageFrom(sender);
      const changed = Uint8Array.from(message.body);
      changed[3] = (changed[3] ?? 0) ^ 1;
      for (const body of [changed, message.body.subarray(1), new Uint8Array(0)]) {
        const cause = causeOf(sender, { ...message, body });
        assert.match(cause, /^(no_matching_signature|body_altered)$/, `${body.length} bytes`);
      }
    });

    test("a message without any one of its headers is rejected", () => {
      const { headers } = providerTable.find(({ name }) => name === sender.name) ?? { headers: [] };
      assert.equal(headers.length === 0, withoutHeaders.includes(sender.name));
      for (const header of headers) {
        const message = messageFrom(sender);
        (message.headers as Headers).delete(header);
        assert.equal(causeOf(sender, message), "missing_header", header);
      }
    });

    if (!withoutHeaders.includes(sender.name)) {
      test("an invalid signature is rejected", () => {
        const { headers = [] } = providerTable.find(({ name }) => name === sender.name) ?? {};
        const signatureHeader = headers.find((name) => /signature|hmac|trello-webhook/i.test(name)) ?? "";
        for (const value of [
          "x",
          "sha256=",
          "t=,v1=",
          "v1,",
          "ts=1;h1=zz",
          "0".repeat(5_000),
          "=".repeat(44),
        ]) {
          const message = messageFrom(sender);
          (message.headers as Headers).set(signatureHeader, value);
          assert.match(
            causeOf(sender, message),
            /^(malformed_header|bad_timestamp|too_old)$/,
            value.slice(0, 20),
          );
        }
      });
    }

    if (sender.isTimed) {
      test("the tolerance is 300 s in both directions, including the bound", () => {
        for (const ageSeconds of [300, -300, 0])
          assert.equal(causeOf(sender, messageFrom(sender, { ageSeconds })), "verified");
        assert.equal(causeOf(sender, messageFrom(sender, { ageSeconds: 301 })), "too_old");
        assert.equal(causeOf(sender, messageFrom(sender, { ageSeconds: -301 })), "too_new");
      });

      test("a receiver with a broken clock accepts nothing", () => {
        const answer = sender
          .verifier(providers, [0])
          .verify(messageFrom(sender), { nowSeconds: Number.NaN });
        assert.equal((answer as Verification).kind, "rejected");
      });
    }
  });
}

test("no attacker's message is accepted, and none makes a verifier throw", async () => {
  const names = [...new Set(providerTable.flatMap(({ headers }) => headers)), "Content-Type"];
  const value = fc.oneof(
    fc.string({ unit: "binary-ascii" }),
    fc.constantFrom(
      `${now.nowSeconds}`,
      `t=${now.nowSeconds},v1=${"ab".repeat(32)}`,
      `ts=${now.nowSeconds};h1=${"ab".repeat(32)}`,
      `sha256=${"ab".repeat(32)}`,
      `v0=${"ab".repeat(32)}`,
      "ab".repeat(32),
      "ab".repeat(64),
      `v1,${Buffer.alloc(32).toString("base64")}`,
      Buffer.alloc(32).toString("base64"),
      Buffer.alloc(20).toString("base64"),
      Buffer.from("3006020101020101", "hex").toString("base64"),
      "application/x-www-form-urlencoded",
      "msg_1",
    ),
  );
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json().map((text) => new TextEncoder().encode(text)),
  );
  const url = fc.oneof(unicodeText(), webUrls);
  const verifiers = [providers, webProviders].flatMap((each) =>
    senders.map((sender) => sender.verifier(each, [0, 1])),
  );
  const fields = fc.dictionary(fc.constantFrom(...names), value);
  const refuse = async (sent: Record<string, string>, bytes: Uint8Array, address: string): Promise<void> => {
    const lower = new Map(Object.entries(sent).map(([name, text]) => [name.toLowerCase(), text]));
    const headers = { get: (name: string) => lower.get(name.toLowerCase()) ?? null };
    const message = { method: "POST", url: address, headers, body: bytes };
    const answers = verifiers.map((verifier) => Promise.resolve(verifier.verify(message, now)));
    for (const answer of await Promise.all(answers)) assert.equal(answer.kind, "rejected");
  };
  await fc.assert(fc.asyncProperty(fields, body, url, refuse), { numRuns: 1_000 });
});

test("an unsigned message id is used only on request", () => {
  const headers: Readonly<Record<string, string>> = {
    bitbucket: "X-Request-UUID",
    github: "X-GitHub-Delivery",
    zendesk: "X-Zendesk-Webhook-Invocation-Id",
    shopify: "X-Shopify-Webhook-Id",
    linear: "Linear-Delivery",
    twilio: "I-Twilio-Idempotency-Token",
  };
  for (const name of ["bitbucket", "github", "linear", "shopify", "twilio", "zendesk"] as const) {
    const sender = senders.find((other) => other.name === name) as Sender;
    const message = messageFrom(sender);
    (message.headers as Headers).set(headers[name] as string, "delivery-1");
    const idOf = (answer: Verification | Promise<Verification>) =>
      !(answer instanceof Promise) && answer.kind === "verified" ? answer.messageId : answer;
    assert.equal(idOf(sender.verifier(providers, [0]).verify(message, now)), null);
    const options = {
      secrets: "first secret, with a blank",
      publicUrl: "https://hooks.example.com/in?tenant=1",
      unsignedMessageId: true,
    };
    assert.equal(idOf(providers[name](options).verify(message, now)), "delivery-1");
  }
});

test("invalid options are rejected at once, without keys in the message", () => {
  const publicUrl = "https://example.com/hooks";
  const attempts: readonly (() => unknown)[] = [
    () => providers.stripe({ secrets: "" }),
    () => providers.stripe({ secrets: [] }),
    () => providers.stripe({ secrets: undefined as unknown as string }),
    () => providers.github({ secrets: "hush-hush\n" }),
    () => providers.github({ secrets: Array.from({ length: 17 }, () => "hush-hush") }),
    () => providers.slack({ secrets: "hush-hush", toleranceSeconds: -1 }),
    () => providers.slack({ secrets: "hush-hush", toleranceSeconds: Number.NaN }),
    () => providers.svix({ secrets: "whsec_hush-hush" }),
    () => providers.square({ secrets: "hush-hush", publicUrl: "/hooks" }),
    () => providers.twilio({ secrets: "hush-hush", publicUrl: "ftp://example.com/" }),
    () => providers.twilio({ secrets: "hush-hush ", publicUrl }),
    () => providers.adyen({ secrets: "hush-hush" }),
    () => providers.adyen({ secrets: "abc" }),
    () => providers.gitlab({ secrets: "whsec_hush-hush" }),
    () => providers.hubspot({ secrets: "hush-hush", publicUrl: "hooks" }),
    () => providers.mailgun({ secrets: [] }),
    () => providers.discord({ publicKeys: "hush-hush" }),
    () => providers.sendgrid({ publicKeys: "-----BEGIN PUBLIC KEY-----hush-hush" }),
  ];
  for (const attempt of attempts) {
    assert.throws(attempt, (error) => {
      assert.ok(error instanceof ReceiverError);
      assert.equal(error.code, "misconfigured");
      return !error.message.includes("hush");
    });
  }
});

test("the tolerance can be configured", () => {
  const sender = senders.find(({ name }) => name === "zoom") as Sender;
  const old = messageFrom(sender, { ageSeconds: 3_600 });
  const verifier = providers.zoom({ secrets: "first secret, with a blank", toleranceSeconds: 3_600 });
  assert.equal((verifier.verify(old, now) as Verification).kind, "verified");
});
