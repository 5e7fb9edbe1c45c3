import fc from "fast-check";

const codePoint = fc.oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }));

/** Any Unicode character: control characters, those outside the basic plane, unassigned ones. */
export const unicodeCharacters: fc.Arbitrary<string> = codePoint.map((code) => String.fromCodePoint(code));

const namesOfObjects = fc.constantFrom("__proto__", "constructor", "toString", "length");

/**
 * Text of any characters, like `fc.string({ unit: "binary" })`, which spends two seconds of processor time on a table
 * of all characters, once in each process.
 */
export function unicodeText({ maxLength }: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  const characters = fc.array(unicodeCharacters, maxLength === undefined ? {} : { maxLength });
  return fc.oneof(
    { weight: 20, arbitrary: characters.map((some) => some.join("")) },
    { weight: 1, arbitrary: namesOfObjects },
  );
}
