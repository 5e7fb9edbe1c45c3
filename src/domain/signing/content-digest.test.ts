import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import published from "./content-digest-vectors.fixture.json" with { type: "json" };
import { parseContentDigest } from "./content-digest.ts";
import { contentDigest } from "./http-signatures.ts";

const sha256 = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:";

describe("Content-Digest", () => {
  for (const vector of published.vectors) {
    test(`published value, ${vector.from}`, () => {
      const algorithm = vector.content_digest.startsWith("sha-256") ? "sha-256" : "sha-512";
      const body = Buffer.from(vector.body);
      assert.equal(contentDigest(body, algorithm), vector.content_digest);
      const parsed = parseContentDigest(vector.content_digest);
      assert.ok(parsed.kind === "parsed");
      const digest = createHash(algorithm.replace("-", "")).update(body).digest();
      assert.deepEqual(
        parsed.digests.map((entry) => [entry.algorithm, Buffer.from(entry.digest).toString("hex")]),
        [[algorithm, digest.toString("hex")]],
      );
    });
  }

  test("generated digests are read again, for any body and both algorithms", () => {
    fc.assert(
      fc.property(
        fc.uint8Array(),
        fc.constantFrom("sha-256" as const, "sha-512" as const),
        (body, algorithm) => {
          const parsed = parseContentDigest(contentDigest(body, algorithm));
          assert.ok(parsed.kind === "parsed" && parsed.digests[0]?.algorithm === algorithm);
          const digest = createHash(algorithm.replace("-", "")).update(body).digest();
          assert.ok(digest.equals(parsed.digests[0].digest));
        },
      ),
    );
  });

  test("digests of unknown algorithms are ignored", () => {
    const parsed = parseContentDigest(`md5=:AAAA:, ${sha256}, unixsum=30637`);
    assert.ok(parsed.kind === "parsed");
    assert.deepEqual(
      parsed.digests.map(({ algorithm }) => algorithm),
      ["sha-256"],
    );
  });

  const refused = [
    "",
    "sha-256",
    "sha-256=abc",
    "sha-256=:AAAA:",
    sha256.replace("=:,", ":"),
    `${sha256},`,
    sha256.slice(0, -1),
    sha256.replace("g=:", "h=:"), // bits after the last byte
    "md5=:AAAA:",
    "sha-512=(:AAAA:)",
    sha256.toUpperCase(),
  ].filter((field) => field !== sha256);
  for (const field of refused) {
    test(`${JSON.stringify(field)} is malformed`, () => {
      assert.equal(parseContentDigest(field).kind, "malformed");
    });
  }
});
