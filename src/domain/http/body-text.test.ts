import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bodyText } from "./body-text.ts";

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const utf16be = (text: string): Buffer => Buffer.from(text, "utf16le").swap16();

const rows: readonly (readonly [
  name: string,
  body: Uint8Array,
  contentType: string | undefined,
  text: string,
])[] = [
  ["UTF-8", Buffer.from("größe ✓"), "text/plain", "größe ✓"],
  ["UTF-8 with a mark", Buffer.from("\ufeffa"), undefined, "a"],
  ["UTF-8, cut in a character", Buffer.from("a✓").subarray(0, 3), undefined, "a"],
  ["Latin-1", Buffer.from("größe", "latin1"), "text/plain; charset=ISO-8859-1", "größe"],
  ["Latin-1 in quotes", Buffer.from("größe", "latin1"), 'text/html;Charset="latin1"', "größe"],
  ["Latin-1 without a charset", Buffer.from("größe", "latin1"), "text/plain", "größe"],
  ["Windows-1252", bytes(0x80, 0x31), "text/plain; charset=windows-1252", "€1"],
  ["UTF-16 with a mark", Buffer.from("\ufeffgrün", "utf16le"), "text/plain; charset=utf-16", "grün"],
  ["UTF-16, big endian, with a mark", utf16be("\ufeffgrün"), "text/plain; charset=utf-16", "grün"],
  ["UTF-16, big endian", utf16be("grün"), "text/plain; charset=UTF-16BE", "grün"],
  ["UTF-16 without a charset", Buffer.from('{"a":"grün"}', "utf16le"), "application/json", '{"a":"grün"}'],
  ["UTF-16, big endian, without a charset", utf16be("<a/>"), undefined, "<a/>"],
  [
    "UTF-16, cut in a character",
    Buffer.from("ab", "utf16le").subarray(0, 3),
    "text/plain; charset=utf-16le",
    "a",
  ],
  ["an invalid charset", Buffer.from("grün"), "text/plain; charset=klingon", "grün"],
  ["Shift JIS", bytes(0x93, 0xfa, 0x96, 0x7b), "text/plain; charset=shift_jis", "日本"],
];

for (const [name, body, contentType, text] of rows)
  test(`text of a body: ${name}`, () => assert.equal(bodyText(body, contentType), text));

test("property: no body causes an exception", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), fc.string(), (body, label) => {
      assert.equal(typeof bodyText(body, `text/plain; charset=${label}`), "string");
    }),
  );
});
