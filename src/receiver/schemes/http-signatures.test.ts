import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { contentDigest } from "../../domain/signing/http-signatures.ts";
import { cryptos } from "../crypto/cryptos.fixture.ts";
import type { ReceivedMessage, Verification } from "../message/message.ts";
import { ReceiverError } from "../receiver-error.ts";
import { type HttpSignaturesOptions, prepareHttpSignaturesVerifier } from "./http-signatures.ts";
import {
  type Headers,
  httpSignatureHeaders,
  messageId,
  newPair,
  newSecret,
  orderBody,
  received,
  signedAt,
  signingKey,
  strangeMessages,
  targetUri,
} from "./signed-messages.fixture.ts";

const pair = newPair();
const secret = newSecret();
const pairKey = signingKey(pair.secret);
const secretKey = signingKey(secret);
assert.ok(pairKey.kind === "asymmetric" && secretKey.kind === "symmetric");
const named = { ...secretKey, keyId: "team-a" };

const ed25519 = httpSignatureHeaders({ keys: [pairKey] });
const shared = httpSignatureHeaders({ keys: [named] });
const sharedKey = { key: secret, keyId: "team-a", producer: "a" };

/** A signature computed over the given lines: valid but unusual. */
function signedByHand(lines: readonly string[], params: string): Headers {
  const base = [...lines, `"@signature-params": ${params}`].join("\n");
  const mac = createHmac("sha256", secretKey.kind === "symmetric" ? secretKey.bytes : "")
    .update(base)
    .digest("base64");
  return { ...shared, "signature-input": `sig1=${params}`, "signature": `sig1=:${mac}:` };
}

const coveredLines = [
  '"@method": POST',
  `"@target-uri": ${targetUri}`,
  '"content-type": application/json',
  `"content-digest": ${contentDigest(orderBody)}`,
  `"idempotency-key": "${messageId}"`,
];
const covered = '("@method" "@target-uri" "content-type" "content-digest" "idempotency-key")';

function arrived(headers: Headers, more: Partial<Omit<ReceivedMessage, "headers">> = {}): ReceivedMessage {
  return received(headers, { url: "/hooks?tenant=a", ...more });
}

for (const [name, crypto] of cryptos) {
  const verify = async (
    message: ReceivedMessage,
    options: Partial<HttpSignaturesOptions> & { readonly nowSeconds?: number } = {},
  ): Promise<Verification> => {
    const { nowSeconds = signedAt, ...more } = options;
    const keys = [{ key: pair.publicKey, producer: "p" }, sharedKey];
    return prepareHttpSignaturesVerifier(crypto, { keys, ...more }).verify(message, { nowSeconds });
  };
  const causeOf = async (...input: Parameters<typeof verify>): Promise<string> => {
    const result = await verify(...input);
    return result.kind === "verified" ? "verified" : result.cause;
  };

  describe(`HTTP Message Signatures in the kit, on ${name}`, () => {
    test("EDS-11.3-2 messages signed by the sender are accepted, with either algorithm", async () => {
      const common = { kind: "verified", messageId: null, timestampSeconds: signedAt, isKeyAuthentic: true };
      const first = await verify(arrived(ed25519));
      assert.deepEqual(first, { ...common, scheme: "rfc9421-ed25519", producer: "p" });
      const second = await verify(arrived(shared));
      assert.deepEqual(second, { ...common, scheme: "rfc9421-hmac-sha256", producer: "a" });
    });

    test("during a rotation one known key of several is enough, the first or a later one", async () => {
      const other = signingKey(newPair().secret);
      assert.ok(other.kind === "asymmetric");
      for (const keys of [
        [pairKey, other],
        [other, pairKey],
      ]) {
        assert.equal(await causeOf(arrived(httpSignatureHeaders({ keys }))), "verified");
      }
      assert.equal(await causeOf(arrived(httpSignatureHeaders({ keys: [other] }))), "unknown_key");
    });

    const altered: readonly (readonly [what: string, change: Headers, cause: string])[] = [
      ["no Signature-Input", { "signature-input": "" }, "missing_header"],
      ["no Signature", { "signature": "" }, "missing_header"],
      ["no Content-Digest", { "content-digest": "" }, "malformed_header"],
      ["a broken Content-Digest", { "content-digest": "sha-256=abc" }, "malformed_header"],
      ["another digest", { "content-digest": contentDigest(Buffer.from("x")) }, "body_altered"],
      [
        "one right and one wrong digest",
        { "content-digest": `${contentDigest(orderBody)}, ${contentDigest(Buffer.from("x"), "sha-512")}` },
        "body_altered",
      ],
      [
        "the digest in another notation",
        { "content-digest": contentDigest(orderBody, "sha-512") },
        "no_matching_signature",
      ],
      ["another content type", { "content-type": "text/plain" }, "no_matching_signature"],
      ["another key", { "idempotency-key": '"other"' }, "no_matching_signature"],
      ["a bare key", { "idempotency-key": messageId }, "no_matching_signature"],
      ["another host", { "host": "evil.example.com" }, "no_matching_signature"],
      [
        "another signature",
        { "signature": `sig1=:${Buffer.alloc(64).toString("base64")}:` },
        "no_matching_signature",
      ],
      ["a short signature", { "signature": "sig1=:AA==:" }, "no_matching_signature"],
      [
        "another label",
        { "signature": (ed25519["signature"] ?? "").replace("sig1", "sig2") },
        "malformed_header",
      ],
      [
        "another time",
        {
          "signature-input": (ed25519["signature-input"] ?? "").replace(
            String(signedAt),
            String(signedAt + 1),
          ),
        },
        "no_matching_signature",
      ],
      [
        "another algorithm",
        { "signature-input": (ed25519["signature-input"] ?? "").replace('"ed25519"', '"hmac-sha256"') },
        "wrong_key_kind",
      ],
      [
        "another tag",
        { "signature-input": (ed25519["signature-input"] ?? "").replace("posthorn", "x") },
        "no_matching_signature",
      ],
      [
        "another keyid",
        { "signature-input": (ed25519["signature-input"] ?? "").replace('keyid="', 'keyid="x') },
        "unknown_key",
      ],
    ];
    for (const [what, change, cause] of altered) {
      test(`EDS-11.3-1 EDS-11.4-1 ${what}: ${cause}`, async () => {
        assert.equal(await causeOf(arrived({ ...ed25519, ...change })), cause);
      });
    }

    test("EDS-11.3-1 another method or path is rejected", async () => {
      assert.equal(await causeOf(arrived(ed25519, { method: "PUT" })), "no_matching_signature");
      assert.equal(await causeOf(arrived(ed25519, { url: "/hooks?tenant=b" })), "no_matching_signature");
    });

    test("EDS-11.4-1 every flipped byte of the body is reported as a changed body", async () => {
      for (let index = 0; index < orderBody.length; index++) {
        const body = Buffer.from(orderBody);
        body[index] = (body[index] ?? 0) ^ 1;
        assert.equal(await causeOf(arrived(ed25519, { body })), "body_altered");
      }
    });

    test("EDS-11.4-1 a valid signature that does not cover the body is rejected", async () => {
      const lines = coveredLines.filter((line) => !line.startsWith('"content-digest"'));
      const list = covered.replace(' "content-digest"', "");
      const headers = signedByHand(lines, `${list};created=${signedAt};keyid="team-a"`);
      for (const requiredComponents of [undefined, [], ["@method"]]) {
        const result = await verify(arrived(headers), { requiredComponents });
        assert.ok(result.kind === "rejected" && result.cause === "malformed_header");
        assert.match(result.detail, /does not cover "content-digest"/);
      }
    });

    test("the application chooses the required components, except for the digest", async () => {
      const headers = signedByHand(
        coveredLines.slice(3, 4),
        `("content-digest");created=${signedAt};keyid="team-a"`,
      );
      assert.equal(await causeOf(arrived(headers)), "malformed_header");
      assert.equal(await causeOf(arrived(headers), { requiredComponents: [] }), "verified");
    });

    test("EDS-11.5-2 a valid signature without created is rejected", async () => {
      const headers = signedByHand(coveredLines, `${covered};keyid="team-a"`);
      const result = await verify(arrived(headers));
      assert.ok(result.kind === "rejected" && result.cause === "malformed_header");
      assert.match(result.detail, /no created/);
    });

    test("EDS-11.5-2 created and expires limit how long a captured message is valid", async () => {
      for (const [nowSeconds, cause] of [
        [signedAt + 300, "verified"],
        [signedAt + 301, "too_old"],
        [signedAt - 300, "verified"],
        [signedAt - 301, "too_new"],
      ] as const) {
        assert.equal(await causeOf(arrived(ed25519), { nowSeconds }), cause);
      }
      const params = `${covered};created=${signedAt};expires=${signedAt + 10};keyid="team-a"`;
      const headers = signedByHand(coveredLines, params);
      assert.equal(await causeOf(arrived(headers), { nowSeconds: signedAt + 10 }), "verified");
      assert.equal(await causeOf(arrived(headers), { nowSeconds: signedAt + 11 }), "too_old");
    });

    test("a signature without keyid or with an unknown one is rejected", async () => {
      const headers = signedByHand(coveredLines, `${covered};created=${signedAt}`);
      assert.equal(await causeOf(arrived(headers)), "unknown_key");
    });

    test("unknown parameters are included in the signed text", async () => {
      const params = `${covered};created=${signedAt};keyid="team-a";nonce="n";later=?0`;
      const headers = signedByHand(coveredLines, params);
      assert.equal(await causeOf(arrived(headers)), "verified");
      const changed = {
        ...headers,
        "signature-input": headers["signature-input"]?.replace("?0", "?1") ?? "",
      };
      assert.equal(await causeOf(arrived(changed)), "no_matching_signature");
    });

    test("a missing covered component is named", async () => {
      const { "content-type": _, ...headers } = ed25519;
      const result = await verify(arrived(headers));
      assert.ok(result.kind === "rejected" && result.cause === "missing_header");
      assert.match(result.detail, /"content-type"/);
    });

    test("only signatures with the expected tag are verified", async () => {
      assert.equal(await causeOf(arrived(ed25519), { tag: "posthorn" }), "verified");
      assert.equal(await causeOf(arrived(ed25519), { tag: "other" }), "missing_header");
    });

    test("the address is determined behind a proxy, in absolute form, or from Host", async () => {
      const { host: _, ...headers } = ed25519;
      const inside = { ...headers, host: "10.0.0.7:3000" };
      assert.equal(await causeOf(arrived(inside)), "no_matching_signature");
      for (const publicOrigin of ["https://hooks.example.com", "https://hooks.example.com/"]) {
        assert.equal(await causeOf(arrived(inside), { publicOrigin }), "verified");
      }
      const cutOff = { url: "?tenant=a" };
      const publicOrigin = "https://hooks.example.com/hooks";
      assert.equal(await causeOf(arrived(inside, cutOff), { publicOrigin }), "verified");
      assert.equal(await causeOf(arrived(headers, { url: targetUri })), "verified");
      const wrong = { ...ed25519, "x-forwarded-host": "hooks.example.com", "host": "x" };
      assert.equal(await causeOf(arrived(wrong)), "no_matching_signature");
    });

    test("the verifier answers any hostile input", async () => {
      const verifier = prepareHttpSignaturesVerifier(crypto, { keys: [sharedKey, { key: pair.publicKey }] });
      await fc.assert(
        fc.asyncProperty(fc.oneof(strangeMessages(ed25519), strangeMessages(shared)), async (message) => {
          const result = await verifier.verify(message, { nowSeconds: signedAt });
          assert.ok(result.kind === "verified" ? orderBody.equals(message.body) : result.detail !== "");
        }),
      );
    });
  });
}

describe("setting up HTTP Message Signatures", () => {
  const [, crypto] = cryptos[0] ?? assert.fail();
  const refused: readonly (readonly [what: string, options: HttpSignaturesOptions, message: RegExp])[] = [
    ["no key", { keys: [] }, /at least one key/],
    ["a private key", { keys: [{ key: pair.secret }] }, /private key \(whsk_\)/],
    ["a secret without a name", { keys: [{ key: secret }] }, /needs the keyId/],
    ["one name for two keys", { keys: [sharedKey, { ...sharedKey, key: newSecret() }] }, /same keyId/],
    ["a name that no header can contain", { keys: [{ ...sharedKey, keyId: "\u00e9" }] }, /printable ASCII/],
    ["a component in capitals", { keys: [sharedKey], requiredComponents: ["Content-Type"] }, /lower-case/],
    ["an invalid origin", { keys: [sharedKey], publicOrigin: "hooks.example.com" }, /publicOrigin/],
    ["an invalid tolerance", { keys: [sharedKey], toleranceSeconds: -1 }, /toleranceSeconds/],
  ];
  for (const [what, options, message] of refused) {
    test(`${what} is rejected at once`, () => {
      assert.throws(
        () => prepareHttpSignaturesVerifier(crypto, options),
        (error) => error instanceof ReceiverError && message.test(error.message),
      );
    });
  }

  test("a loopback host means http", async () => {
    const lines = coveredLines.map((line) =>
      line.replace("https://hooks.example.com", "http://127.0.0.1:3000"),
    );
    const headers = signedByHand(lines, `${covered};created=${signedAt};keyid="team-a"`);
    const verifier = prepareHttpSignaturesVerifier(crypto, { keys: [sharedKey] });
    const message = arrived({ ...headers, host: "127.0.0.1:3000" });
    assert.equal((await verifier.verify(message, { nowSeconds: signedAt })).kind, "verified");
  });

  test("on Node the result is synchronous", () => {
    const verifier = prepareHttpSignaturesVerifier(crypto, { keys: [{ key: pair.publicKey }] });
    assert.ok(!(verifier.verify(arrived(ed25519), { nowSeconds: signedAt }) instanceof Promise));
  });
});
