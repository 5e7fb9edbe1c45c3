import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { suite, test } from "node:test";

type Messages = Readonly<Record<string, string>>;

const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".json"));
const read = (name: string): Messages =>
  JSON.parse(readFileSync(join(import.meta.dirname, name), "utf8")) as Messages;
const valuesOf = (text = ""): readonly string[] => (text.match(/\{\w+\}/g) ?? []).toSorted();

suite("messages of the portal", () => {
  const english = read("en.json");
  const isCounted = (key: string) =>
    key.replace(/\.(one|other)$/, ".other") in english && /\.(one|other)$/.test(key);

  test("every language has every message in its plural forms, with the same values", () => {
    assert.ok(files.length > 1);
    for (const file of files) {
      const messages = read(file);
      const forms = new Intl.PluralRules(basename(file, ".json")).resolvedOptions().pluralCategories;
      const expected = Object.keys(english).flatMap((key) => {
        if (!isCounted(key)) return [key];
        return key.endsWith(".other") ? forms.map((form) => key.replace(/other$/, form)) : [];
      });
      assert.deepEqual(Object.keys(messages).toSorted(), expected.toSorted(), file);
      for (const [key, text] of Object.entries(messages)) {
        const inEnglish = english[key] ?? english[key.replace(/\w+$/, "other")];
        assert.notEqual(text.trim(), "", `${file}: ${key}`);
        assert.deepEqual(valuesOf(text), valuesOf(inEnglish), `${file}: ${key}`);
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
