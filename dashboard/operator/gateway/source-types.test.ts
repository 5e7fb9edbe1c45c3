import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { verifierFromConfiguration } from "../../../src/receiver/index.ts";
import { sourceTypes } from "../../../src/app/listeners.ts";
import type { SourceType } from "../../shared/resources.ts";
import {
  randomSecret,
  secondOf,
  secretField,
  typedVerification,
  typesMatching,
  verificationOf,
} from "./source-types.ts";

/** In the format of the API. */
const types = sourceTypes.map(({ type, title, fields, provider }) => ({
  type,
  title,
  provider,
  fields: fields.map(({ isRequired, isSecret, ...field }) => ({
    ...field,
    is_required: isRequired,
    is_secret: isSecret,
  })),
})) as unknown as readonly SourceType[];

const typeOf = (name: string): SourceType => types.find(({ type }) => type === name) ?? assert.fail(name);

suite("the request body of the source form", () => {
  test("every type with a secret accepts a generated one", () => {
    const other = { header: "X-Signature", username: "shop", public_url: "https://a.example/" };
    const tried = types.flatMap((type) => {
      const secret = randomSecret(type);
      const field = secretField(type);
      return secret === null || field === null ? [] : [{ type, typed: { ...other, [field.name]: secret } }];
    });
    assert.ok(tried.length > 25, `${tried.length} types`);
    for (const { type, typed } of tried)
      assert.equal(verifierFromConfiguration(verificationOf(type, typed)).kind, "ok", type.type);
  });

  test("sends two secrets during a rotation, numbers as numbers, and omits empty fields", () => {
    const typed = { "secrets": " new ", [secondOf("secrets")]: "old", "tolerance_seconds": "60" };
    assert.deepEqual(verificationOf(typeOf("slack"), typed), {
      type: "slack",
      secrets: ["new", "old"],
      tolerance_seconds: 60,
    });
    assert.deepEqual(verificationOf(typeOf("github"), { secrets: "" }), { type: "github" });
    assert.deepEqual(verificationOf(typeOf("any_of"), { verifiers: "[1" }), {
      type: "any_of",
      verifiers: "[1",
    });
  });

  test("a change starts with the stored values, except masked ones", () => {
    const stored = { type: "twilio", secrets: ["…"], public_url: "https://a.example/in" };
    assert.deepEqual(typedVerification(typeOf("twilio"), stored), {
      "public_url": "https://a.example/in",
    });
    const keys = { type: "discord", public_keys: ["a1", "b2", "c3"] };
    const typed = typedVerification(typeOf("discord"), keys);
    assert.deepEqual(verificationOf(typeOf("discord"), typed), keys, "none is lost, however many there are");
    const covered = { type: "http_signatures", secrets: ["…"], components: ["@method", "content-digest"] };
    assert.equal(
      typedVerification(typeOf("http_signatures"), covered)["components"],
      "@method, content-digest",
    );
  });

  test("a search matches all words in any order, in names and titles", () => {
    const found = (text: string) => typesMatching(types, text).map(({ type }) => type);
    assert.deepEqual(found("git"), ["github", "gitlab"]);
    assert.deepEqual(found("header hmac"), ["hmac"]);
    assert.deepEqual(found("whatsapp"), ["meta"]);
    assert.equal(found("").length, types.length);
  });
});
