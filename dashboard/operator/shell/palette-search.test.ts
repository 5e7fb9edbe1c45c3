import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { entriesMatching, type PaletteEntry, steppedIndex } from "./palette-search.ts";

const entry = (title: string, group: PaletteEntry["group"] = "Pages"): PaletteEntry => ({
  id: title,
  group,
  title,
  hint: "",
  run: () => undefined,
});
const entries = [
  entry("Dead letters"),
  entry("Event types"),
  entry("Events"),
  entry("Retry now", "Commands"),
];
const titles = (text: string) => entriesMatching(entries, text).map(({ title }) => title);

suite("the palette's entries", () => {
  test("every word must occur, in any order and case", () => {
    assert.deepEqual(titles("LETTERS dead"), ["Dead letters"]);
    assert.deepEqual(titles("dead retry"), []);
    assert.equal(titles("  ").length, entries.length);
  });

  test("titles that start with the text come first", () => {
    assert.deepEqual(titles("ty"), ["Event types"]);
    assert.deepEqual(titles("e"), ["Event types", "Events", "Dead letters", "Retry now"]);
  });

  test("arrow keys wrap around", () => {
    assert.equal(steppedIndex(2, { by: 1, count: 3 }), 0);
    assert.equal(steppedIndex(0, { by: -1, count: 3 }), 2);
    assert.equal(steppedIndex(0, { by: 1, count: 0 }), 0);
  });
});
