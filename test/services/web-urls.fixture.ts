import fc from "fast-check";
import { unicodeCharacters } from "./unicode-text.fixture.ts";

const schemes = fc.constantFrom("http", "https");

/** Percent-encodes every character: `encodeURIComponent` would leave letters unchanged. */
const encodedCharacter = unicodeCharacters.map((character) => {
  const encoded = encodeURIComponent(character);
  return encoded === character ? `%${character.charCodeAt(0).toString(16)}` : encoded;
});

const letters = fc.constantFrom(
  ...Array.from("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@"),
);
const characters = fc.oneof({ weight: 10, arbitrary: letters }, { weight: 1, arbitrary: encodedCharacter });

const text = (unit: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.array(unit, { size: "small" }).map((some) => some.join(""));

/** `""`, or segments that each start with a slash. */
export const webPaths: fc.Arbitrary<string> = fc
  .array(text(characters), { size: "xsmall" })
  .map((segments) => segments.map((segment) => `/${segment}`).join(""));

const query = text(fc.oneof({ weight: 20, arbitrary: characters }, fc.constantFrom("/", "?")));

/**
 * URLs according to RFC 3986, some of them with a query, like `fc.webUrl`, which needs two seconds of CPU time per
 * process for a table of all characters.
 */
export const webUrls: fc.Arbitrary<string> = fc
  .tuple(schemes, fc.webAuthority(), webPaths, fc.option(query))
  .map(
    ([scheme, authority, path, search]) =>
      `${scheme}://${authority}${path}${search === null ? "" : `?${search}`}`,
  );
