import assert from "node:assert/strict";
import { test } from "node:test";
import { eventTypesText } from "./type-text.ts";

const bare = { description: "", deprecated: false, schema: null };

test("type names are valid and unique identifiers", () => {
  const names = ["order.completed", "order-completed", "4711", "events", "a..b"];
  const text = eventTypesText(
    names.map((name) => ({ name, description: "", deprecated: false, schema: null })),
    ["head"],
  );
  const members = [...text.matchAll(/^ {2}"(.*)": (\w+);$/gm)].map(([, , name]) => name);
  assert.deepEqual(members, ["OrderCompleted", "OrderCompleted2", "Event4711", "Events2", "AB"]);
  assert.match(text, /^\/\/ head\n/);
});

test("definitions of a schema become separate types, and a schema may refer to itself", () => {
  const schema = {
    $defs: {
      "line item": { type: "object", properties: { parent: { $ref: "#" } }, additionalProperties: false },
    },
    properties: {
      items: { type: "array", items: { $ref: "#/$defs/line item" } },
      // Percent-encoded, which is allowed in a URL fragment.
      first: { $ref: "#/$defs/line%20item" },
    },
    additionalProperties: false,
  };
  const text = eventTypesText([{ ...bare, name: "order.made", description: "Made.", schema }], []);
  assert.match(text, /export interface OrderMadeLineItem \{\n {2}parent\?: OrderMade;\n\}/);
  assert.match(
    text,
    /export interface OrderMade \{\n {2}items\?: OrderMadeLineItem\[\];\n {2}first\?: OrderMadeLineItem;\n\}/,
  );
  assert.match(text, /\/\*\* Made\. \*\/\n {2}"order\.made": OrderMade;/);
});
