import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PosthornError } from "../domain/errors.ts";
import { createCursorCodec, type Listing } from "./paging.ts";

const codec = createCursorCodec(new Uint8Array(32).fill(7));
const listing: Listing = { tenantId: "t1", route: "events", filters: { eventType: "a.b", from: null } };

function isRefused(other: Listing, cursor: string): boolean {
  try {
    codec.decode(other, cursor);
    return false;
  } catch (error) {
    return error instanceof PosthornError && error.code === "invalid_cursor";
  }
}

test("positions are returned unchanged, both numbers and text", () => {
  for (const position of [0, 42, Number.MAX_SAFE_INTEGER, "", "0198c3f2", "ü/%"]) {
    assert.equal(codec.decode(listing, codec.encode(listing, position)), position);
  }
});

test("the order of the filters does not matter", () => {
  const cursor = codec.encode(listing, 1);
  assert.equal(codec.decode({ ...listing, filters: { from: null, eventType: "a.b" } }, cursor), 1);
});

test("a cursor is bound to tenant, route, filters and key", () => {
  const cursor = codec.encode(listing, 1);
  assert.ok(isRefused({ ...listing, tenantId: "t2" }, cursor));
  assert.ok(isRefused({ ...listing, tenantId: null }, cursor));
  assert.ok(isRefused({ ...listing, route: "dlq" }, cursor));
  assert.ok(isRefused({ ...listing, filters: { eventType: "a.c", from: null } }, cursor));
  const other = createCursorCodec(new Uint8Array(32).fill(8));
  assert.ok(isRefused(listing, other.encode(listing, 1)));
});

test("it does not reveal the position", () => {
  const texts = [1_000_001, 1_000_002].map((position) =>
    Buffer.from(codec.encode(listing, position), "base64url"),
  );
  assert.ok(texts.every((bytes) => !bytes.includes("100000")));
});

test("no change of a single character is accepted, nor any other text", () => {
  const cursor = codec.encode(listing, 123_456);
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (let index = 0; index < cursor.length; index++) {
    for (const character of alphabet) {
      if (character === cursor[index]) continue;
      assert.ok(isRefused(listing, cursor.slice(0, index) + character + cursor.slice(index + 1)));
    }
  }
  fc.assert(fc.property(fc.string(), (text) => isRefused(listing, text)));
});

test("a key that is too short is refused at start", () => {
  assert.throws(() => createCursorCodec(new Uint8Array(31)), RangeError);
});
