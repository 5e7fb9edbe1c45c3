/** A stored configuration results in either one verifier or a list of its problems. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { suite, test } from "node:test";
import fc from "fast-check";
import { createWebCrypto } from "../crypto/default-crypto.ts";
import { presetTable } from "../presets/presets.ts";
import { discordKeys, messageOf, secrets, sendgridKeys, svixSecrets } from "../providers/senders.fixture.ts";
import { adyenKeys } from "../providers/more-senders.fixture.ts";
import { verificationTypes, verifierFromConfiguration, withSecrets } from "./configured-verifier.ts";
import type { Received, SourceVerifier } from "./source-verifier.ts";

const now = { nowSeconds: 1_800_000_000 };
const publicUrl = "https://in.example.com/in/abc";

function sourceOf(configuration: unknown): SourceVerifier {
  const made = verifierFromConfiguration(configuration);
  if (made.kind === "invalid") assert.fail(JSON.stringify(made.problems));
  return made.source;
}

function problemsOf(configuration: unknown): readonly string[] {
  const made = verifierFromConfiguration(configuration);
  return made.kind === "ok" ? [] : made.problems.map(({ pointer, detail }) => `${pointer}: ${detail}`);
}

const received = (source: SourceVerifier, message: Parameters<SourceVerifier["receive"]>[0]): Received =>
  source.receive(message, now) as Received;

const hex = (hash: string, key: string, text: string) => createHmac(hash, key).update(text).digest("hex");

/** A valid configuration of each type. */
const working: Readonly<Record<string, object>> = {
  ...Object.fromEntries(
    presetTable.map(({ name }) => [name, { type: name, secrets: secrets[0], ...particular(name) }]),
  ),
  standard_webhooks: { type: "standard_webhooks", secrets: svixSecrets[0] },
  x_webhook: { type: "x_webhook", secrets: ["hush"] },
  http_signatures: {
    type: "http_signatures",
    secrets: svixSecrets[0],
    key_id: "main",
    public_origin: "https://in.example.com",
  },
  hmac: { type: "hmac", header: "X-Signature", secrets: ["hush"] },
  basic: { type: "basic", username: "shop", secrets: ["hush"] },
  api_key: { type: "api_key", header: "X-Api-Key", secrets: ["hush"] },
  bearer: { type: "bearer", secrets: ["hush"] },
  client_certificate: { type: "client_certificate", fingerprints: ["ab".repeat(32)] },
  none: { type: "none" },
  any_of: { type: "any_of", verifiers: [{ type: "bearer", secrets: ["hush"] }] },
  all_of: { type: "all_of", verifiers: [{ type: "bearer", secrets: ["hush"] }] },
};

function particular(name: string): object {
  if (["twilio", "square", "hubspot", "mandrill", "trello"].includes(name)) return { public_url: publicUrl };
  if (["svix", "clerk", "resend", "openai"].includes(name)) return { secrets: [svixSecrets[0]] };
  if (name === "adyen") return { secrets: adyenKeys };
  if (name === "discord") return { secrets: undefined, public_keys: discordKeys };
  return name === "sendgrid" ? { secrets: undefined, public_keys: sendgridKeys } : {};
}

suite("every type", () => {
  test("is listed with its fields, and has a configuration that works", () => {
    assert.deepEqual(verificationTypes.map(({ type }) => type).toSorted(), Object.keys(working).toSorted());
    for (const [type, configuration] of Object.entries(working))
      assert.equal(sourceOf(configuration).type, type);
  });

  test("refuses a message without any proof, and none alone accepts one", () => {
    for (const [type, configuration] of Object.entries(working)) {
      const source = sourceOf(configuration);
      const { kind } = received(source, messageOf({}, '{"type":"order.paid"}'));
      assert.equal(kind, type === "none" ? "verified" : "rejected", type);
      assert.equal(source.isUnverified, type === "none", type);
    }
  });

  test("answers with promises on WebCrypto, and refuses the same messages", async () => {
    const crypto = createWebCrypto(globalThis.crypto.subtle);
    for (const [type, configuration] of Object.entries(working)) {
      const made = verifierFromConfiguration(configuration, crypto);
      if (made.kind === "invalid") assert.fail(type);
      const answer = await made.source.receive(messageOf({}, "{}"), now);
      assert.equal(answer.kind, type === "none" ? "verified" : "rejected", type);
    }
  });
});

suite("invalid values are reported with their path", () => {
  test("unknown types fail closed", () => {
    assert.match(problemsOf({ type: "githib", secrets: ["x"] })[0] ?? "", /^\/type: .*did you mean github/);
    assert.match(
      problemsOf({ type: "constructor", secrets: ["x"] })[0] ?? "",
      /^\/type: unknown verification type/,
    );
    assert.match(problemsOf({ secrets: ["x"] })[0] ?? "", /^\/type: type is missing/);
    for (const configuration of [null, "none", [], 7, undefined])
      assert.match(problemsOf(configuration)[0] ?? "", /^: verification must be an object/);
  });

  test("all errors together", () => {
    const problems = problemsOf({
      type: "hmac",
      secret: "x",
      secrets: ["", 7],
      hash: "md5",
      tolerance_seconds: -1,
    });
    assert.deepEqual(
      problems.map((problem) => problem.split(":")[0]),
      ["/secret", "/secrets/0", "/secrets/1", "/header", "/hash", "/tolerance_seconds"],
    );
    assert.match(problems[0] ?? "", /did you mean secrets/);
  });

  test("contradicting options are reported with the names of the configuration", () => {
    const hmac = { type: "hmac", header: "X-Signature", secrets: ["hush"] };
    for (const [more, expected] of [
      [{ signed: "{timestamp}.{body}" }, /^\/signed: signed must contain \{timestamp\} if and only if/],
      [{ signed: "{timestamp}" }, /^\/signed: signed must contain \{body\}/],
      [{ signed: "{host}{body}" }, /^\/signed: signed: \{host\} is not one of/],
      [{ timestamp_header: "X-Time" }, /signed must contain \{timestamp\}/],
      [{ id_header: "X-Id" }, /signed must contain \{id\}/],
      [{ header: "X Signature" }, /must be the name of a header/],
      [{ signed: "{url}{body}" }, /^\/public_url: public_url must be the whole address/],
      [{ key_encoding: "hex" }, /^\/secrets: the key must be hexadecimal/],
    ] as const)
      assert.match(problemsOf({ ...hmac, ...more })[0] ?? "", expected, JSON.stringify(more));
    assert.match(
      problemsOf({ type: "api_key", secrets: ["x"] })[0] ?? "",
      /^\/header: set either header or query/,
    );
    assert.match(problemsOf({ type: "basic", username: "a:b", secrets: ["x"] })[0] ?? "", /^\/username: /);
  });

  test("in compositions, with the inner path; and their number is limited", () => {
    const bearer = { type: "bearer", secrets: ["hush"] };
    const problems = problemsOf({ type: "any_of", verifiers: [bearer, { type: "github" }, { type: "?" }] });
    assert.deepEqual(
      problems.map((problem) => problem.split(":")[0]),
      ["/verifiers/1/secrets", "/verifiers/2/type"],
    );
    const nested = (value: object) => ({ type: "all_of", verifiers: [value] });
    assert.deepEqual(problemsOf(nested(nested(bearer))), []);
    assert.match(problemsOf(nested(nested(nested(bearer))))[0] ?? "", /nested more than 3 levels deep/);
    const eight = { type: "any_of", verifiers: Array.from({ length: 8 }, () => bearer) };
    assert.deepEqual(problemsOf({ type: "any_of", verifiers: [eight, eight] }), []);
    assert.match(
      problemsOf({ type: "any_of", verifiers: [eight, eight, bearer] })[0] ?? "",
      /no more than 16 verifiers/,
    );
    assert.match(problemsOf({ type: "any_of", verifiers: [] })[0] ?? "", /^\/verifiers: /);
  });

  test("no part of a secret is in a problem, however invalid the value", () => {
    for (const { type } of verificationTypes) {
      for (const wrong of ["whsk_hush-hush", " hush-hush ", "hush-hush\n", "hush-hush".repeat(400)]) {
        const problems = problemsOf({ ...working[type], secrets: [wrong], public_keys: [wrong] });
        assert.ok(!problems.join().includes("hush"), `${type}: ${problems.join()}`);
      }
    }
  });

  test("no JSON value causes an exception", () => {
    const types = fc.constantFrom(...verificationTypes.map(({ type }) => type), "__proto__");
    const fields = fc.dictionary(
      fc.constantFrom(...new Set(verificationTypes.flatMap(({ fields: names }) => Object.keys(names)))),
      fc.oneof(fc.jsonValue(), fc.array(fc.record({ type: types }))),
    );
    fc.assert(
      fc.property(types, fields, (type, more) => {
        verifierFromConfiguration({ ...more, type });
      }),
      { numRuns: 500 },
    );
  });
});

suite("generic verifiers", () => {
  const body = '{"type":"order.paid"}';

  test("hmac: hash, encoding, prefix, key encoding and signed content", () => {
    const key = Buffer.alloc(20, 9);
    for (const hash of ["sha1", "sha256", "sha512"] as const)
      for (const encoding of ["hex", "base64"] as const) {
        const common = { type: "hmac", header: "X-Sig", hash, encoding, prefix: `${hash}=` };
        const source = sourceOf({ ...common, secrets: key.toString("hex"), key_encoding: "hex" });
        const mac = createHmac(hash, key).update(body).digest(encoding);
        assert.equal(received(source, messageOf({ "X-Sig": `${hash}=${mac}` }, body)).kind, "verified");
        assert.equal(received(source, messageOf({ "X-Sig": mac }, body)).kind, "rejected");
        assert.equal(received(source, messageOf({ "X-Sig": `${hash}=${mac}` }, `${body} `)).kind, "rejected");
      }
  });

  test("hmac: a signed time within its tolerance, an id, the method and the address", () => {
    const source = sourceOf({
      type: "hmac",
      header: "X-Sig",
      signed: "{method}|{url}|{id}|{timestamp}|{body}|end",
      timestamp_header: "X-Time",
      timestamp_form: "milliseconds",
      id_header: "X-Id",
      public_url: publicUrl,
      tolerance_seconds: 10,
      secrets: ["old", "new"],
    });
    const at = (milliseconds: number) => {
      const mac = hex("sha256", "new", `POST|${publicUrl}|m-1|${milliseconds}|${body}|end`);
      return received(source, messageOf({ "X-Sig": mac, "X-Time": `${milliseconds}`, "X-Id": "m-1" }, body));
    };
    const answer = at(now.nowSeconds * 1_000);
    assert.ok(answer.kind === "verified");
    assert.deepEqual(answer.key, { value: "m-1", isVouchedFor: true });
    assert.equal(answer.verification.timestampSeconds, now.nowSeconds);
    const old = at((now.nowSeconds - 11) * 1_000);
    assert.equal(old.kind === "rejected" && old.cause, "too_old");
    assert.ok(source.vouchesFor({ header: "x-id" }) && source.vouchesFor({ header: "X-Time" }));
    assert.ok(!source.vouchesFor({ header: "X-Other" }));
  });

  test("hmac: time and signatures as entries of one header", () => {
    const source = sourceOf({
      type: "hmac",
      header: "X-Sig",
      signed: "{timestamp}.{body}",
      separator: ",",
      prefix: "v1=",
      timestamp_prefix: "t=",
      secrets: ["hush"],
    });
    const mac = hex("sha256", "hush", `${now.nowSeconds}.${body}`);
    const header = `t=${now.nowSeconds},v1=${"0".repeat(64)},v1=${mac}`;
    assert.equal(received(source, messageOf({ "X-Sig": header }, body)).kind, "verified");
  });

  test("basic: the name is the producer, and each of two passwords is accepted", () => {
    const source = sourceOf({ type: "basic", username: "shop", secrets: ["old:one", "neü"] });
    const sent = (text: string) =>
      received(source, messageOf({ Authorization: `Basic ${Buffer.from(text).toString("base64")}` }, body));
    for (const text of ["shop:old:one", "shop:neü"]) {
      const answer = sent(text);
      assert.equal(answer.kind === "verified" && answer.verification.producer, "shop");
    }
    for (const text of ["shop:", "shop:old", "shop", "Shop:old:one", ":old:one", "shop:old:one "])
      assert.equal(sent(text).kind, "rejected", text);
    for (const header of ["Basic", "Basic !!!!", "Bearer c2hvcDpvbGQ6b25l", `Basic ${"a".repeat(9_000)}`])
      assert.equal(received(source, messageOf({ Authorization: header }, body)).kind, "rejected");
  });

  test("api_key: in a header after a prefix, or in the query, once", () => {
    const byHeader = sourceOf({ type: "api_key", header: "X-Key", prefix: "Token ", secrets: ["a", "b"] });
    for (const [value, kind] of [
      ["Token a", "verified"],
      ["Token b", "verified"],
      ["Token c", "rejected"],
      ["a", "rejected"],
      ["Token a, Token a", "rejected"],
    ] as const)
      assert.equal(received(byHeader, messageOf({ "X-Key": value }, body)).kind, kind, value);
    const byQuery = sourceOf({ type: "api_key", query: "key", secrets: ["a b"] });
    for (const [query, kind] of [
      ["?key=a%20b", "verified"],
      ["?key=a+b&x=1", "verified"],
      ["?key=a%20b&key=a%20b", "rejected"],
      ["#?key=a%20b", "rejected"],
      ["?key=", "rejected"],
      ["", "rejected"],
    ] as const)
      assert.equal(received(byQuery, messageOf({}, body, `/in${query}`)).kind, kind, query);
  });
});

suite("compositions", () => {
  const body = '{"type":"order.paid","id":"evt_1"}';
  const github = { "X-Hub-Signature-256": `sha256=${hex("sha256", "hush", body)}` };
  const delivery = { ...github, "X-GitHub-Event": "push", "X-GitHub-Delivery": "d-1" };

  test("any_of: key and event type come from the verifier that accepts", () => {
    const source = sourceOf({
      type: "any_of",
      verifiers: [
        { type: "stripe", secrets: ["other"] },
        { type: "github", secrets: ["hush"] },
      ],
    });
    const answer = received(source, messageOf(delivery, body));
    assert.ok(answer.kind === "verified");
    assert.deepEqual(answer.key, { value: "d-1", isVouchedFor: false });
    assert.equal(answer.eventType, "push");
    assert.ok(source.forwardHeaders.includes("X-GitHub-Event"));
    const refused = received(source, messageOf(delivery, `${body} `));
    // The reported cause is the more informative of the two: GitHub's signature does not match. For Stripe, only the
    // header is missing.
    assert.equal(refused.kind === "rejected" && refused.cause, "no_matching_signature");
  });

  test("any_of with none is unverified, and reports that", () => {
    const source = sourceOf({
      type: "any_of",
      verifiers: [{ type: "github", secrets: ["x"] }, { type: "none" }],
    });
    assert.ok(source.isUnverified);
    assert.ok(!sourceOf({ type: "all_of", verifiers: [working["bearer"], { type: "none" }] }).isUnverified);
  });

  test("all_of: every verifier must accept", () => {
    const source = sourceOf({
      type: "all_of",
      verifiers: [
        { type: "github", secrets: ["hush"] },
        { type: "api_key", header: "X-Proxy", secrets: ["from the proxy"] },
      ],
    });
    const answer = received(source, messageOf({ ...delivery, "X-Proxy": "from the proxy" }, body));
    assert.ok(answer.kind === "verified");
    assert.equal(answer.verification.scheme, "github+api-key");
    assert.equal(answer.eventType, "push");
    for (const headers of [delivery, { "X-Proxy": "from the proxy" }])
      assert.equal(received(source, messageOf(headers, body)).kind, "rejected");
  });
});

test("secrets are replaced everywhere, and nothing else is", () => {
  const configuration = {
    type: "any_of",
    verifiers: [
      { type: "meta", secrets: ["hush1", "hush2"], verify_token: "hush3" },
      { type: "discord", public_keys: [discordKeys[0]] },
      { type: "basic", username: "shop", secrets: "hush4", pasword: "hush5" },
      { type: "?", secret: { deep: "hush6" } },
    ],
  };
  assert.deepEqual(
    withSecrets(configuration, (secret) => `${secret.length}`),
    {
      type: "any_of",
      verifiers: [
        { type: "meta", secrets: ["5", "5"], verify_token: "5" },
        { type: "discord", public_keys: [discordKeys[0]] },
        { type: "basic", username: "shop", secrets: "5", pasword: "5" },
        { type: "?", secret: null },
      ],
    },
  );
});
