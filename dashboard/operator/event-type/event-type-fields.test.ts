import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { eventTypeFields as apiFields } from "../../../src/resources/event-type.ts";
import { shell } from "../../shared/shell-text.ts";
import { bodyOf, bodyTextOf, changeCommand, type Typed } from "../form/form-fields.ts";
import { eventTypeFields, eventTypeOptions, typedEventType } from "./event-type-fields.ts";

suite("the form of an event type", () => {
  const text =
    '{"description":"Sent.","schema":{"maximum":9007199254740993},"examples":[{"id":1.10}],"deprecated":false}';
  const before = typedEventType(JSON.parse(text) as Record<string, unknown>, text);
  const changed = (changes: Typed) => {
    const typed = { ...before, ...changes };
    const { body } = bodyOf(eventTypeFields, typed, before);
    return { body, text: bodyTextOf(eventTypeFields, body, typed) };
  };

  test("has all fields of the API except deprecated, which has a button", () => {
    const names = eventTypeFields.map(({ name }) => name);
    assert.deepEqual([...names, "deprecated"].toSorted(), Object.keys(apiFields).toSorted());
  });

  test("JSON is shown and sent digit for digit", () => {
    assert.deepEqual(before, {
      description: "Sent.",
      schema: '{\n  "maximum": 9007199254740993\n}',
      examples: '[\n  {\n    "id": 1.10\n  }\n]',
    });
    assert.equal(changed({}).text, "{}");
    assert.equal(
      changed({ description: 'A "quote"', schema: ' {"maximum":9007199254740995} ' }).text,
      '{"description":"A \\"quote\\"","schema":{"maximum":9007199254740995}}',
    );
  });

  test("an empty schema accepts anything, and empty text means no examples", () => {
    assert.equal(changed({ schema: " " }).text, '{"schema":null}');
    assert.equal(changed({ examples: "" }).text, '{"examples":[]}');
    const none = '{"description":"","schema":null,"examples":[]}';
    assert.equal(typedEventType(JSON.parse(none) as Record<string, unknown>, none)["schema"], "");
  });

  test("the command sets the same fields where it has options for them", () => {
    const commandOf = (changes: Typed) =>
      changeCommand(shell`event-types put a.b`, changed(changes).body, eventTypeOptions)?.text;
    assert.equal(
      commandOf({ description: "It's sent", schema: "" }),
      `event-types put a.b --description 'It'\\''s sent' --schema null`,
    );
    assert.equal(commandOf({ description: "true" }), "event-types put a.b --description true");
    assert.equal(commandOf({ examples: "[]" }), "event-types put a.b --example none");
    assert.equal(
      commandOf({ examples: '[{"id":1},{"id":"it\'s"}]' }),
      `event-types put a.b --example '{"id":1}' --example '{"id":"it'\\''s"}'`,
    );
  });
});
