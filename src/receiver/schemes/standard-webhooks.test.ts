import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "node:test";
import fc from "fast-check";
import { standardWebhooksVectors } from "../../domain/signing/vectors.fixture.ts";
import { cryptos } from "../crypto/cryptos.fixture.ts";
import type { ReceivedMessage, Verification } from "../message/message.ts";
import { ReceiverError } from "../receiver-error.ts";
import type { ByProducer } from "./first-match.ts";
import {
  type Headers,
  messageId,
  newPair,
  newSecret,
  orderBody,
  received,
  signedAt,
  standardHeaders,
  strangeMessages,
} from "./signed-messages.fixture.ts";
import { prepareStandardWebhooksVerifier } from "./standard-webhooks.ts";

const secret = newSecret();
const pair = newPair();
const valid = standardHeaders([secret, pair.secret]);

for (const [name, crypto] of cryptos) {
  const verify = async (
    message: ReceivedMessage,
    options: {
      readonly keys?: ByProducer;
      readonly nowSeconds?: number;
      readonly toleranceSeconds?: number;
    } = {},
  ): Promise<Verification> => {
    const { keys = secret, nowSeconds = signedAt, toleranceSeconds } = options;
    return prepareStandardWebhooksVerifier(crypto, { keys, toleranceSeconds }).verify(message, {
      nowSeconds,
    });
  };
  const causeOf = async (...input: Parameters<typeof verify>): Promise<string> => {
    const result = await verify(...input);
    return result.kind === "verified" ? "verified" : result.cause;
  };

  describe(`Standard Webhooks in the kit, on ${name}`, () => {
    for (const vector of standardWebhooksVectors) {
      test(`TS16-59 TS16-63 TS16-64 published vector ${vector.name}`, async () => {
        const bytes = Buffer.from(vector.keyHex, "hex");
        const keys =
          vector.prefix === "whsec_"
            ? `whsec_${bytes.toString("base64")}`
            : `whpk_${bytes.subarray(32).toString("base64")}`;
        const headers = {
          "webhook-id": vector.messageId,
          "webhook-timestamp": String(vector.timestampSeconds),
          "webhook-signature": vector.signature,
        };
        const message = received(headers, { body: Buffer.from(vector.body) });
        assert.deepEqual(await verify(message, { keys, nowSeconds: vector.timestampSeconds }), {
          kind: "verified",
          scheme: vector.prefix === "whsec_" ? "v1" : "v1a",
          producer: "default",
          messageId: vector.messageId,
          timestampSeconds: vector.timestampSeconds,
        });
      });
    }

    test("TS16-66 a secret is accepted with and without its prefix", async () => {
      for (const keys of [secret, secret.slice("whsec_".length)]) {
        assert.equal((await verify(received(valid), { keys })).kind, "verified");
      }
    });

    test("TS16-67 TS16-68 any of several keys may have signed, and the producer's name is returned", async () => {
      const keys = { shop: [newSecret(), newPair().publicKey], bank: [newSecret(), pair.publicKey] };
      const result = await verify(received(valid), { keys });
      assert.ok(result.kind === "verified");
      assert.deepEqual([result.producer, result.scheme], ["bank", "v1a"]);
    });

    test("EDS-9.4-6 a signature of one producer is not accepted for another", async () => {
      const keys = { shop: newSecret(), bank: secret };
      const result = await verify(received(valid), { keys });
      assert.equal(result.kind === "verified" && result.producer, "bank");
      assert.equal(await causeOf(received(valid), { keys: { shop: newSecret() } }), "no_matching_signature");
    });

    test("TS16-82 TS16-83 WDS-154 a message outside the tolerance of 300 s is rejected, in both directions", async () => {
      for (const [nowSeconds, cause] of [
        [signedAt + 300, "verified"],
        [signedAt + 301, "too_old"],
        [signedAt - 300, "verified"],
        [signedAt - 301, "too_new"],
      ] as const) {
        assert.equal(await causeOf(received(valid), { nowSeconds }), cause);
      }
      assert.equal(
        await causeOf(received(valid), { nowSeconds: signedAt + 11, toleranceSeconds: 10 }),
        "too_old",
      );
      assert.equal(await causeOf(received(valid), { nowSeconds: Number.NaN }), "too_old");
    });

    const altered: readonly (readonly [what: string, change: Headers, cause: string])[] = [
      ["no id", { "webhook-id": "" }, "missing_header"],
      ["no timestamp", { "webhook-timestamp": "" }, "missing_header"],
      ["no signature", { "webhook-signature": " " }, "missing_header"],
      ["another id", { "webhook-id": `${messageId}x` }, "no_matching_signature"],
      ["an id with a period", { "webhook-id": "a.b" }, "bad_message_id"],
      ["two ids", { "webhook-id": "a, b" }, "bad_message_id"],
      ["another time", { "webhook-timestamp": String(signedAt + 1) }, "no_matching_signature"],
      ["an invalid time", { "webhook-timestamp": "now" }, "bad_timestamp"],
      ["a padded time", { "webhook-timestamp": `0${signedAt}` }, "bad_timestamp"],
      ["an unknown scheme", { "webhook-signature": "v2,AAAA" }, "malformed_header"],
      ["a signature of another length", { "webhook-signature": "v1,AAAA" }, "malformed_header"],
      [
        "schemes exchanged",
        { "webhook-signature": valid["webhook-signature"]?.replaceAll("v1,", "v2,") ?? "" },
        "wrong_key_kind",
      ],
      [
        "another signature",
        { "webhook-signature": `v1,${Buffer.alloc(32).toString("base64")}` },
        "no_matching_signature",
      ],
    ];
    for (const [what, change, cause] of altered) {
      test(`EDS-11.3-1 TS16-55 ${what}: ${cause}`, async () => {
        assert.equal(await causeOf(received({ ...valid, ...change })), cause);
      });
    }

    const [v1a = "", v1 = ""] = (valid["webhook-signature"] ?? "").split(" ");
    for (const [what, signature] of [
      ["without schemes", `${v1.slice(3)} ${v1a.slice(4)}`],
      ["separated by a comma", `${v1a},${v1}`],
      ["longer", `${v1a}A ${v1}A`],
      ["truncated", `${v1a.slice(0, -6)} ${v1.slice(0, -6)}`],
      ["empty", "v1, v1a,"],
    ] as const) {
      test(`EDS-11.3-1 signatures that are ${what} are rejected`, async () => {
        const message = received({ ...valid, "webhook-signature": signature });
        for (const keys of [secret, pair.publicKey])
          assert.notEqual(await causeOf(message, { keys }), "verified");
      });
    }

    test("TS16-67 entries of unknown schemes are skipped", async () => {
      const signature = `v9,x  v1,AAAA junk ${v1a} ${v1}`;
      const message = received({ ...valid, "webhook-signature": signature });
      for (const keys of [secret, pair.publicKey]) assert.equal(await causeOf(message, { keys }), "verified");
    });

    test("EDS-11.4-1 TS16-61 every flipped byte of the body is detected", async () => {
      for (let index = 0; index < orderBody.length; index++) {
        const body = Buffer.from(orderBody);
        body[index] = (body[index] ?? 0) ^ 1;
        for (const keys of [secret, pair.publicKey]) {
          assert.equal(await causeOf(received(valid, { body }), { keys }), "no_matching_signature");
        }
      }
    });

    test("TS16-61 bytes that are neither JSON nor UTF-8 verify unchanged", async () => {
      const body = Buffer.from([0xef, 0xbb, 0xbf, 0xff, 0x00, 0x0d]);
      const headers = standardHeaders([secret, pair.secret], body);
      for (const keys of [secret, pair.publicKey]) {
        assert.equal(await causeOf(received(headers, { body }), { keys }), "verified");
      }
    });

    test("TS16-61 JSON verifies as written: spaces, order, repeated members, 1.0 and escapes", async () => {
      for (const text of [
        '{ "b" : 1.0,\n "a": 2 }',
        '{"a":1,"a":2}',
        '{"a":"\\u00e9"}',
        "[1e3]\n",
        "\ufeff{}",
      ]) {
        const body = Buffer.from(text);
        const headers = standardHeaders([secret, pair.secret], body);
        for (const keys of [secret, pair.publicKey]) {
          assert.equal(await causeOf(received(headers, { body }), { keys }), "verified", text);
        }
      }
    });

    test("bytes cannot be moved between id, time and body", async () => {
      const moved = received(valid, { body: Buffer.concat([Buffer.from(`${signedAt}.`), orderBody]) });
      assert.notEqual(await causeOf(moved), "verified");
    });

    test("TS16-66 a key of the other kind is reported when a message arrives", async () => {
      const result = await verify(received(standardHeaders([secret])), { keys: pair.publicKey });
      assert.ok(result.kind === "rejected" && result.cause === "wrong_key_kind");
      assert.match(result.detail, /whsec_/);
      const other = await verify(received(standardHeaders([pair.secret])), { keys: secret });
      assert.ok(other.kind === "rejected" && other.cause === "wrong_key_kind");
      assert.match(other.detail, /whpk_/);
    });

    test("the verifier answers any hostile input", async () => {
      const verifier = prepareStandardWebhooksVerifier(crypto, { keys: [secret, pair.publicKey] });
      await fc.assert(
        fc.asyncProperty(strangeMessages(valid), async (message) => {
          const result = await verifier.verify(message, { nowSeconds: signedAt });
          assert.ok(result.kind === "verified" ? orderBody.equals(message.body) : result.detail !== "");
        }),
      );
    });
  });
}

describe("setting up Standard Webhooks", () => {
  const [, crypto] = cryptos[0] ?? assert.fail();
  const refused: readonly (readonly [what: string, keys: unknown, message: RegExp])[] = [
    ["a private key", pair.secret, /private key \(whsk_\)/],
    ["no key", [], /at least one key/],
    ["no producer", {}, /at least one producer/],
    ["an empty key", "", /keys is not set/],
    ["an unset variable", undefined, /environment variable/],
    ["a bare prefix", "whsec_", /not padded standard base64/],
    [
      "a short secret",
      `whsec_${Buffer.alloc(23).toString("base64")}`,
      /is whsec_ and the base64 of 24 to 64 bytes, but this one has 23/,
    ],
    [
      "a long secret",
      `whsec_${Buffer.alloc(65).toString("base64")}`,
      /is whsec_ and the base64 of 24 to 64 bytes, but this one has 65/,
    ],
    ["a public key of another length", `whpk_${Buffer.alloc(31).toString("base64")}`, /32 bytes/],
    ["URL-safe base64", `whsec_${Buffer.alloc(24, 0xff).toString("base64url")}`, /base64/],
    ["a key with a line break", `${secret}\n`, /white space/],
  ];
  for (const [what, keys, message] of refused) {
    test(`TS16-66 ${what} is rejected at once, without repeating it`, () => {
      assert.throws(
        () => prepareStandardWebhooksVerifier(crypto, { keys: keys as string }),
        (error) =>
          error instanceof ReceiverError &&
          error.code === "misconfigured" &&
          message.test(error.message) &&
          !error.message.includes("AAAAAA"),
      );
    });
  }

  test("a tolerance is a number of seconds", () => {
    for (const toleranceSeconds of [-1, Number.NaN]) {
      assert.throws(
        () => prepareStandardWebhooksVerifier(crypto, { keys: secret, toleranceSeconds }),
        ReceiverError,
      );
    }
  });

  test("on Node the result is synchronous", () => {
    const verifier = prepareStandardWebhooksVerifier(crypto, { keys: [newSecret(), secret] });
    assert.ok(!(verifier.verify(received(valid), { nowSeconds: signedAt }) instanceof Promise));
  });

  test("a header with many signatures does not make every key try every signature", () => {
    let trials = 0;
    const counting = {
      ...crypto,
      verifyEd25519: (...claim: Parameters<typeof crypto.verifyEd25519>) => {
        trials += 1;
        return crypto.verifyEd25519(...claim);
      },
    };
    const verifier = prepareStandardWebhooksVerifier(counting, {
      keys: Array.from({ length: 16 }, () => newPair().publicKey),
    });
    const entries = Array.from(
      { length: 40 },
      (_, index) => `v1a,${Buffer.alloc(64, index).toString("base64")}`,
    );
    const result = verifier.verify(received({ ...valid, "webhook-signature": entries.join(" ") }), {
      nowSeconds: signedAt,
    });
    assert.equal(!(result instanceof Promise) && result.kind, "rejected");
    assert.equal(trials, 32);
  });
});
