import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf, hexText, utf8Text } from "./bytes.ts";

test("bytes are shown sixteen per line with their offset, and omitted bytes are counted", () => {
  assert.equal(hexText(bytesOf(btoa("0123456789abcdefg"))).split("\n")[1], "000010  67");
  assert.equal(hexText(new Uint8Array(4_100)).split("\n").at(-1), "and 4 more bytes");
  assert.equal(hexText(new Uint8Array()), "");
});

test("text keeps its byte order mark, and invalid UTF-8 is not text", () => {
  assert.equal(utf8Text(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)), "\ufeffa");
  assert.equal(utf8Text(Uint8Array.of(0xff)), null);
});
