import fc from "fast-check";

const codePoint = fc.oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }));

/** Any Unicode character. This includes control characters, characters outside the basic plane and unassigned ones. */
export const unicodeCharacters: fc.Arbitrary<string> = codePoint.map((code) => String.fromCodePoint(code));

const namesOfObjects = fc.constantFrom("__proto__", "constructor", "toString", "length");

/**
 * Text with any characters, like `fc.string({ unit: "binary" })`, which needs two seconds of CPU time per process for a
 * table of all characters.
 */
export function unicodeText({ maxLength }: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  const characters = fc.array(unicodeCharacters, maxLength === undefined ? {} : { maxLength });
  return fc.oneof(
    { weight: 20, arbitrary: characters.map((some) => some.join("")) },
    { weight: 1, arbitrary: namesOfObjects },
  );
}
