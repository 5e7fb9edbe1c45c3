import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { contrast, contrastMin, grounds, repairedAccent, type Scheme } from "./contrast.ts";

const schemes: readonly Scheme[] = ["light", "dark"];

function assertReadable(colour: string, scheme: Scheme): void {
  const { text, fill, onFill } = repairedAccent(colour, scheme);
  for (const ground of grounds[scheme])
    assert.ok(contrast([text, ground]) >= contrastMin, `${colour} in ${scheme}: ${text} on ${ground}`);
  assert.ok(contrast([fill, onFill]) >= contrastMin, `${colour} in ${scheme}: ${onFill} on ${fill}`);
}

suite("repaired accents", () => {
  test("any accent is readable in both schemes", () => {
    const colours = fc
      .integer({ min: 0, max: 0xffffff })
      .map((number) => `#${number.toString(16).padStart(6, "0")}`);
    fc.assert(
      fc.property(colours, fc.constantFrom(...schemes), (colour, scheme) => assertReadable(colour, scheme)),
      { numRuns: 500 },
    );
    for (const colour of ["#000000", "#ffffff", "#FFFF00", "#0000ff", "#808080", "#767676"])
      for (const scheme of schemes) assertReadable(colour, scheme);
  });

  test("a readable accent stays unchanged", () => {
    assert.deepEqual(repairedAccent("#1b5e83", "light"), {
      text: "#1b5e83",
      fill: "#1b5e83",
      onFill: "#ffffff",
    });
    assert.equal(repairedAccent("#ffdd00", "dark").text, "#ffdd00");
  });

  test("the hue stays: a yellow becomes a darker yellow, not black", () => {
    const { text } = repairedAccent("#ffdd00", "light");
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16));
    assert.ok(red > 90 && green > 70 && blue < green / 2, text);
  });

  test("the ratio is that of WCAG", () => {
    assert.equal(contrast(["#000000", "#ffffff"]), 21);
    assert.equal(contrast(["#777777", "#ffffff"]).toFixed(2), "4.48");
  });
});
