import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
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

  test("every message is used", () => {
    const portal = join(import.meta.dirname, "..", "portal");
    const sources = readdirSync(portal, { recursive: true, encoding: "utf8" })
      .filter((path) => [".ts", ".tsx"].includes(extname(path)))
      .map((path) => readFileSync(join(portal, path), "utf8"))
      .join("\n");
    // Prefixes of computed keys, such as `reason.${category}`.
    const beginnings = [...sources.matchAll(/`([a-z][\w.]*\.)\$\{/g)].map(([, beginning = ""]) => beginning);
    assert.ok(beginnings.includes("status."));
    const unsaid = Object.keys(english).filter(
      (key) =>
        !sources.includes(`"${key}"`) &&
        !sources.includes(`"${key.replace(/\.(one|other)$/, "")}"`) &&
        !beginnings.some((beginning) => key.startsWith(beginning)),
    );
    assert.deepEqual(unsaid, []);
  });
});
