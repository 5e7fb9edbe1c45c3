import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf, hexText, utf8Text } from "./bytes.ts";

test("bytes are shown sixteen a line with their place, and what is left out is counted", () => {
  assert.equal(hexText(bytesOf(btoa("0123456789abcdefg"))).split("\n")[1], "000010  67");
  assert.equal(hexText(new Uint8Array(4_100)).split("\n").at(-1), "and 4 bytes more");
  assert.equal(hexText(new Uint8Array()), "");
});

test("text keeps its byte order mark, and other bytes are no text", () => {
  assert.equal(utf8Text(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)), "\ufeffa");
  assert.equal(utf8Text(Uint8Array.of(0xff)), null);
});
