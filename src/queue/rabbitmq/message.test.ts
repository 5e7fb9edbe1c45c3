import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { type LaneKey, orderingGuarantees } from "../../domain/webhook.ts";
import { decodeLanes, encodeLanes } from "./message.ts";

const text = fc.string({ unit: "grapheme", minLength: 1 });
const lanes: fc.Arbitrary<LaneKey> = fc
  .tuple(text, fc.constantFrom(...orderingGuarantees), text)
  .map(([webhookId, ordering, eventType]) => ({
    webhookId,
    ordering,
    eventType: ordering === "per_event_type" ? eventType : null,
  }));

function reasonOf(body: string | Buffer): string | null {
  const decoded = decodeLanes(typeof body === "string" ? Buffer.from(body) : body);
  return decoded.kind === "unreadable" ? decoded.reason : null;
}

suite("message", () => {
  test("encoded lanes are decoded again", () => {
    fc.assert(
      fc.property(fc.array(lanes, { minLength: 1, maxLength: 20 }), (given) => {
        assert.deepEqual(decodeLanes(encodeLanes(given)), { kind: "lanes", lanes: given });
      }),
    );
  });

  test("the layout of version 1 does not change", () => {
    const body = encodeLanes([
      { webhookId: "w1", ordering: "strict", eventType: null },
      { webhookId: "w2", ordering: "per_event_type", eventType: "a.b" },
    ]);
    assert.equal(body.toString(), '{"v":1,"lanes":[["w1","strict"],["w2","per_event_type","a.b"]]}');
  });

  test("fields added by a later program of this version are ignored", () => {
    assert.equal(reasonOf('{"v":1,"lanes":[["w1","none"]],"more":{}}'), null);
  });

  for (const [name, body, reason] of [
    ["no JSON", "\u0000\u0001", "not JSON"],
    ["nothing", "", "not JSON"],
    ["null", "null", "not a message of Posthorn"],
    ["a number", "7", "not a message of Posthorn"],
    ["something else", '{"event":"x"}', "not a message of Posthorn"],
    ["a later version", '{"v":2,"lanes":[["w1","none"]]}', "version 2, this program reads 1"],
    ["no version at all", '{"v":null,"lanes":[]}', "version null, this program reads 1"],
    ["no lanes", '{"v":1,"lanes":[]}', "no lanes"],
    ["an object for lanes", '{"v":1,"lanes":{"0":1}}', "no lanes"],
    ["an unknown ordering", '{"v":1,"lanes":[["w1","fancy"]]}', "an invalid lane"],
    ["an empty id", '{"v":1,"lanes":[["","none"]]}', "an invalid lane"],
    ["an id that is a number", '{"v":1,"lanes":[[1,"none"]]}', "an invalid lane"],
    ["a type where none belongs", '{"v":1,"lanes":[["w1","strict","a.b"]]}', "an invalid lane"],
    ["no type where one belongs", '{"v":1,"lanes":[["w1","per_event_type"]]}', "an invalid lane"],
    ["a good lane and a bad one", '{"v":1,"lanes":[["w1","none"],null]}', "an invalid lane"],
  ] as const) {
    test(`${name} is unreadable, and the reason is given`, () => {
      assert.equal(reasonOf(body), reason);
    });
  }

  test("foreign text in a reason is short", () => {
    assert.ok((reasonOf(`{"v":"${"x".repeat(10_000)}","lanes":[]}`) ?? "").length < 100);
  });

  test("an oversized body is not parsed", () => {
    assert.equal(reasonOf(Buffer.alloc(2_000_000, "[")), "too large");
  });

  test("arbitrary bytes are decoded or refused without an exception", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json().map((text) => Buffer.from(text)),
          bytes,
        ),
        (body) => {
          assert.match(decodeLanes(body).kind, /^(lanes|unreadable)$/);
        },
      ),
    );
  });
});

const bytes = fc.uint8Array().map((array) => Buffer.from(array));
