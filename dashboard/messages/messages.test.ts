import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";

type Messages = Readonly<Record<string, string>>;

const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".json"));
const read = (name: string): Messages =>
  JSON.parse(readFileSync(join(import.meta.dirname, name), "utf8")) as Messages;
const valuesOf = (text = ""): readonly string[] => (text.match(/\{\w+\}/g) ?? []).toSorted();

suite("messages of the portal", () => {
  const english = read("en.json");

  test("every language has every message, with the same values", () => {
    assert.ok(files.length > 1);
    for (const file of files) {
      const messages = read(file);
      assert.deepEqual(Object.keys(messages).toSorted(), Object.keys(english).toSorted(), file);
      for (const [key, text] of Object.entries(messages)) {
        assert.notEqual(text.trim(), "", `${file}: ${key}`);
        assert.deepEqual(valuesOf(text), valuesOf(english[key]), `${file}: ${key}`);
        assert.doesNotMatch(text, /[<>]/, `${file}: ${key} is text and no markup`);
      }
    }
  });
});
