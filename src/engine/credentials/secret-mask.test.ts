import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { processorMs } from "../../../test/services/processor-time.fixture.ts";
import { maskSecrets } from "./secret-mask.ts";

const secret = `Tok"en/<of>&this+te'st==`;

const spellings: Readonly<Record<string, (text: string) => string>> = {
  "as it is": (text) => text,
  "percent-encoded": encodeURIComponent,
  "percent-encoded in lower case": (text) =>
    encodeURIComponent(text).replaceAll(/%../g, (escape) => escape.toLowerCase()),
  "percent-encoded, every character": (text) => each(text, (code) => `%${hex(code, 2)}`),
  "a JSON string": (text) => JSON.stringify(text).slice(1, -1),
  "a JSON string with escaped slashes": (text) =>
    JSON.stringify(text).slice(1, -1).replaceAll("/", String.raw`\/`),
  "JSON escapes": (text) => each(text, (code) => String.raw`\u${hex(code, 4)}`),
  "HTML entities by name": (text) =>
    text
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("'", "&apos;"),
  "HTML entities by number": (text) => each(text, (code) => `&#${code};`),
  "HTML entities by hexadecimal number": (text) => each(text, (code) => `&#x${hex(code, 1)};`),
};

function each(text: string, spell: (code: number) => string): string {
  return Array.from(text, (character) => spell(character.charCodeAt(0))).join("");
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}

const secrets = [secret];

suite("secrets in responses of receivers", () => {
  for (const [name, spell] of Object.entries(spellings)) {
    test(`a secret is hidden if it appears as ${name}`, () => {
      assert.equal(maskSecrets(`you sent ${spell(secret)}.`, secrets, false), "you sent ***.");
    });

    for (const [outer, wrap] of Object.entries(spellings)) {
      test(`and in ${name} within ${outer}`, () => {
        const before = wrap("you sent ");
        assert.equal(maskSecrets(`${before}${wrap(spell(secret))}.`, secrets, false), `${before}***.`);
      });
    }

    test(`as ${name}, a secret is hidden wherever the response was cut`, () => {
      const spelt = spell(secret);
      // If only a part of the first encoded character is visible, the secret is not revealed.
      for (let length = spell(secret.charAt(0)).length; length <= spelt.length; length += 1) {
        assert.equal(
          maskSecrets(`you sent ${spelt.slice(0, length)}`, secrets, true),
          "you sent ***",
          `at ${length}`,
        );
      }
    });
  }

  test("a complete response keeps an end that only looks like the start of a secret", () => {
    assert.equal(maskSecrets("you sent T", secrets, false), "you sent T");
  });

  test("overlapping secrets are hidden", () => {
    const overlapping = ["abcdefghij", "ghijklmnop", "mnopqrstuv"];
    assert.equal(maskSecrets("<abcdefghijklmnopqrstuv>", overlapping, false), "<***>");
  });

  test("a short secret is hidden only as a separate word", () => {
    const short = ["s3cr"];
    assert.equal(maskSecrets("key=s3cr; s3cret, as3cr", short, false), "key=***; s3cret, as3cr");
    assert.equal(maskSecrets('{"key":"s3cr"}', short, false), '{"key":"***"}');
    assert.equal(maskSecrets("key%3Ds3cr", short, false), "key%3D***");
    assert.equal(maskSecrets("key: s3c", short, true), "key: ***");
    assert.equal(maskSecrets("bananas", short, true), "bananas");
  });

  test("text that is too short to be a secret stays", () => {
    assert.equal(maskSecrets("no key", ["key"], true), "no key");
  });

  test("property: the result contains only stars and original text, and no secret", () => {
    const encoded = fc.constantFrom(...Object.values(spellings));
    const text = fc.string({ maxLength: 20 }).map((drawn) => drawn.replaceAll("*", "-"));
    const parts = fc.array(fc.oneof(text, fc.constant(secret)), { maxLength: 6 });
    fc.assert(
      fc.property(parts, encoded, fc.nat({ max: 400 }), (given, spell, length) => {
        const text = given
          .map((part) => spell(part))
          .join("")
          .slice(0, length);
        const masked = maskSecrets(text, [secret], length === text.length);
        assert.ok(!masked.includes(secret) && !masked.includes(spell(secret)), masked);
        for (const rest of masked.split("***")) assert.ok(text.includes(rest), rest);
      }),
    );
  });

  test("a hostile response with many escapes costs little", () => {
    const hostile = "a".repeat(2_000);
    const text = "%5c%26%25".repeat(113);
    const begunMs = processorMs();
    maskSecrets(text, [hostile, `${hostile}b`], true);
    maskSecrets("a".repeat(1_024), [`${hostile}b`], true);
    const usedMs = processorMs() - begunMs;
    assert.ok(usedMs < 1_000, `${usedMs} ms of processor time`);
  });

  const long = "Sk_live-4eC39HqLyjWDarjtT1zdp7dc";
  const hiddenAs: Readonly<Record<string, string>> = {
    "lower case": long.toLowerCase(),
    "upper case": long.toUpperCase(),
    "hexadecimal digits": Buffer.from(long).toString("hex"),
    "hexadecimal digits in upper case": Buffer.from(long).toString("hex").toUpperCase(),
    "hexadecimal digits with colons": (Buffer.from(long).toString("hex").match(/../g) ?? []).join(":"),
    Base64: Buffer.from(long).toString("base64"),
    "Base64 for URLs": Buffer.from(long).toString("base64url"),
    "percent-encoded Base64": encodeURIComponent(Buffer.from(long).toString("base64")),
    "lines of ten characters": (long.match(/.{1,10}/g) ?? []).join("\r\n  "),
    "two strings": `${long.slice(0, 9)}" + "${long.slice(9)}`,
    "lower case in percent-encoding": encodeURIComponent(long.toLowerCase()),
  };
  for (const [name, spelt] of Object.entries(hiddenAs))
    test(`a long secret is hidden if it appears as ${name}`, () => {
      const shown = maskSecrets(`you sent <${spelt}>!`, [long], false);
      const rest = shown.replace("***", "");
      assert.ok(shown.startsWith("you sent <***") && rest.length <= "you sent <>!".length + 4, shown);
    });

  test("a long secret is hidden within larger Base64, wherever it starts", () => {
    for (const before of ["", "a", "ab", "abc", "user:"])
      for (const after of ["", ";", ";x", ";xy"]) {
        const encoded = Buffer.from(`${before}${long}${after}`).toString("base64");
        const shown = maskSecrets(`Basic ${encoded}`, [long], false);
        assert.ok(shown.length < 30 && shown.includes("***"), `${before}|${after}: ${shown}`);
      }
  });

  test("the bytes of a signing secret are hidden, and so is the start of its Base64 where a response was cut", () => {
    const key = Buffer.from("0123456789abcdefghijklmnopqrstuv");
    const secrets = [`whsec_${key.toString("base64")}`];
    for (const spelt of [key.toString("hex"), key.toString("base64"), key.toString("base64url")])
      assert.match(maskSecrets(`key ${spelt}`, secrets, false), /^key \*\*\*=?$/);
    const half = Buffer.from(long).toString("base64").slice(0, 20);
    assert.equal(maskSecrets(`you sent ${half}`, [long], true), "you sent ***");
  });

  test("ordinary text stays unchanged", () => {
    const text = "<html>The quick brown fox: 12345678, deadbeefcafe, dGhlIHF1aWNrIGJyb3duIGZveA==</html>";
    assert.equal(maskSecrets(text, [long], false), text);
  });
});
