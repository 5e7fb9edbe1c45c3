import { fastFormats, fullFormats } from "ajv-formats/dist/formats.js";

/** Longest text that is checked; a longer one does not match. */
const formatTextLengthMax = 4_096;

/**
 * Formats whose check takes linear time. `regex`, `uri-template`, `url` and similar ones are left out: they backtrack,
 * or compile text from the data.
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

/** Formats by name, each with a limit on the text. */
export const safeFormats: ReadonlyMap<string, (text: string) => boolean> = new Map(
  Object.entries(sources).map(([name, source]) => {
    const accepts = testOf(source);
    return [name, (text: string) => text.length <= formatTextLengthMax && accepts(text)] as const;
  }),
);

/** ajv-formats defines a format as an expression, a function, or an object that holds one of them. */
function testOf(source: unknown): (text: string) => boolean {
  if (source instanceof RegExp) return (text) => source.test(text);
  if (typeof source === "function") return (text) => Reflect.apply(source, undefined, [text]) === true;
  if (typeof source === "object" && source !== null && "validate" in source) return testOf(source.validate);
  throw new TypeError("ajv-formats changed the shape of a format");
}
