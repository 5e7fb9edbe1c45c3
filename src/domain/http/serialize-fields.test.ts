import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  type BareItem,
  type InnerList,
  type Item,
  type Member,
  parseDictionary,
  parseList,
} from "./structured-fields.ts";
import {
  serializeDictionary,
  serializeItem,
  serializeList,
  UnserializableFieldError,
} from "./serialize-fields.ts";

/** Objects with the ordinary prototype; fast-check may otherwise create them without one. */
function record<T>(model: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true });
}

const key = fc.stringMatching(/^[a-z*][a-z0-9_\-.*]{0,8}$/);
const bareItem: fc.Arbitrary<BareItem> = fc.oneof(
  record({ kind: fc.constant("integer" as const), value: fc.integer() }),
  record({
    kind: fc.constant("decimal" as const),
    value: fc.integer({ min: -999_999_999, max: 999_999_999 }).map((thousandths) => thousandths / 1000 + 0),
  }),
  record({ kind: fc.constant("string" as const), value: fc.stringMatching(/^[ -~]{0,20}$/) }),
  record({ kind: fc.constant("token" as const), value: fc.stringMatching(/^[A-Za-z*][\w!#:/.-]{0,10}$/) }),
  record({ kind: fc.constant("bytes" as const), value: fc.uint8Array({ maxLength: 20 }) }),
  record({ kind: fc.constant("boolean" as const), value: fc.boolean() }),
  record({ kind: fc.constant("date" as const), value: fc.integer() }),
  record({
    kind: fc.constant("display_string" as const),
    value: fc.string({ unit: "grapheme", maxLength: 10 }).filter((text) => text.isWellFormed()),
  }),
);
const parameters = fc.array(fc.tuple(key, bareItem), { maxLength: 3 }).map((entries) => new Map(entries));
const item: fc.Arbitrary<Item> = record({
  kind: fc.constant("item" as const),
  value: bareItem,
  parameters,
});
const innerList: fc.Arbitrary<InnerList> = record({
  kind: fc.constant("inner_list" as const),
  items: fc.array(item, { maxLength: 3 }),
  parameters,
});
const member: fc.Arbitrary<Member> = fc.oneof(item, innerList);

function itemOf(value: BareItem): Item {
  return { kind: "item", value, parameters: new Map() };
}

describe("writing structured fields", () => {
  test("every list is read back unchanged", () => {
    fc.assert(
      fc.property(fc.array(member, { maxLength: 4 }), (list) => {
        const parsed = parseList(serializeList(list));
        assert.ok(parsed.kind === "parsed");
        assert.deepEqual(parsed.value, list);
      }),
    );
  });

  test("every dictionary is read back unchanged", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(key, member), { maxLength: 4 }), (entries) => {
        const dictionary = new Map(entries);
        const parsed = parseDictionary(serializeDictionary(dictionary));
        assert.ok(parsed.kind === "parsed");
        assert.deepEqual(parsed.value, dictionary);
      }),
    );
  });

  const decimals: readonly (readonly [number, string])[] = [
    [0, "0.0"],
    [1, "1.0"],
    [-1.5, "-1.5"],
    [0.0005, "0.0"], // halves round to even
    [0.0015, "0.002"],
    [1.25, "1.25"],
    [999_999_999_999.999, "999999999999.999"],
  ];
  for (const [value, text] of decimals) {
    test(`the decimal ${value} is ${text}`, () => {
      assert.equal(serializeItem(itemOf({ kind: "decimal", value })), text);
    });
  }

  const impossible: readonly BareItem[] = [
    { kind: "integer", value: 1.5 },
    { kind: "integer", value: 1_000_000_000_000_000 },
    { kind: "integer", value: Number.NaN },
    { kind: "decimal", value: 1_000_000_000_000 },
    { kind: "decimal", value: Number.NaN },
    { kind: "string", value: "caf\u00e9" },
    { kind: "string", value: "a\n" },
    { kind: "token", value: "" },
    { kind: "token", value: "1a" },
    { kind: "token", value: "a b" },
    { kind: "date", value: 0.5 },
    { kind: "display_string", value: "\ud800" },
  ];
  for (const value of impossible) {
    test(`${value.kind} ${JSON.stringify(value.value)} cannot be written`, () => {
      assert.throws(() => serializeItem(itemOf(value)), UnserializableFieldError);
    });
  }

  test("an invalid key cannot be written", () => {
    const value = itemOf({ kind: "integer", value: 1 });
    for (const name of ["", "A", "1", "a b", "a\n"]) {
      assert.throws(() => serializeDictionary(new Map([[name, value]])), UnserializableFieldError);
    }
  });
});
