import { fastFormats, fullFormats } from "ajv-formats/dist/formats.js";

/** Longest text a format is looked at in; a longer one does not match. */
const formatTextLengthMax = 4_096;

/**
 * Formats that take time in proportion to the text. `regex`, `uri-template`, `url` and the like are left out: they
 * backtrack, or compile what the data says.
 */
const sources = {
  date: fullFormats.date,
  time: fullFormats.time,
  "date-time": fullFormats["date-time"],
  duration: fullFormats.duration,
  email: fastFormats.email,
  hostname: fullFormats.hostname,
  ipv4: fullFormats.ipv4,
  ipv6: fullFormats.ipv6,
  uri: fastFormats.uri,
  "uri-reference": fastFormats["uri-reference"],
  uuid: fullFormats.uuid,
  "json-pointer": fullFormats["json-pointer"],
};

/** By name, each bounded in what it looks at. */
export const safeFormats: ReadonlyMap<string, (text: string) => boolean> = new Map(
  Object.entries(sources).map(([name, source]) => {
    const accepts = testOf(source);
    return [name, (text: string) => text.length <= formatTextLengthMax && accepts(text)] as const;
  }),
);

/** ajv-formats writes a format as an expression, a function, or an object that holds one of them. */
function testOf(source: unknown): (text: string) => boolean {
  if (source instanceof RegExp) return (text) => source.test(text);
  if (typeof source === "function") return (text) => Reflect.apply(source, undefined, [text]) === true;
  if (typeof source === "object" && source !== null && "validate" in source) return testOf(source.validate);
  throw new TypeError("ajv-formats changed the shape of a format");
}
