import { priorities } from "../domain/delivery.ts";
import type { FieldError } from "../domain/errors.ts";
import type { JsonBounds } from "../domain/json/guard.ts";
import { traceStateLengthMax } from "../domain/tracing/trace-context.ts";
import { apiPath, choice, type Fields, judgeField, line, word } from "./field.ts";

/**
 * Optional fields of a publish request, in addition to the type and the data. The other fields are read by hand-written
 * code, which is faster.
 */

export const eventFields = {
  source: line({
    lengthMin: 1,
    lengthMax: 255,
    doc: "Application that published the event.",
    examples: ["shop"],
  }),
  idempotencyKey: word({
    lengthMax: 255,
    pattern: "^[\\u0020-\\u007e]+$",
    rule: "printable ASCII characters",
    doc: "Within 24 hours, the same key with the same event returns the first result with `duplicate: true`; the same key with a different event is refused.",
    examples: ["order-4711-completed"],
  }),
  priority: choice(priorities, {
    default: "normal",
    doc: "Priority `high` is delivered first when there is a backlog.",
  }),
} satisfies Fields;

/** Sent as headers in the API and as options in the library. */
export const traceFields = {
  traceparent: word({
    lengthMax: 128,
    pattern: "^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)",
    rule: "a traceparent of W3C Trace Context",
    doc: "Position in the publisher's trace. Sent with every request, with a new span id.",
    examples: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
  }),
  tracestate: line({
    lengthMin: 1,
    lengthMax: traceStateLengthMax,
    doc: "Vendor data that accompanies `traceparent`. Sent only to webhooks that agreed to it.",
    examples: ["congo=t61rcWkgMzE"],
  }),
} satisfies Fields;

/** The validated fields of a publish request, under their API names, so that errors can use these names. */
export interface EventFields {
  readonly data: unknown;
  readonly raw: unknown;
  readonly metadata: unknown;
  readonly links: unknown;
  readonly source: unknown;
  readonly timestamp: unknown;
  readonly idempotencyKey: unknown;
  readonly priority: unknown;
  readonly traceparent: unknown;
  readonly tracestate: unknown;
}

/**
 * Bounds of `data` and `metadata`. Their size in bytes is limited. Both are stored as text, so numbers in them may have
 * any magnitude.
 */
export const eventJsonBounds: JsonBounds = { depthMax: 63, valuesMax: 1_000_000, hugeNumbers: "kept" };

export const linksCountMax = 50;
/**
 * How far a publisher's clock may be ahead of ours. The time of an event is never later than that of its message
 * (TS16-47).
 */
const timestampAheadMsMax = 60_000;

/**
 * Validates the fields of an event other than its type and schema (TS16-42 to TS16-54, WDS-85 to WDS-87). Runs for
 * every publish, so it allocates only if something is invalid.
 */
export function eventFieldProblems(fields: EventFields, now: number): FieldError[] {
  const problems: FieldError[] = [];
  if (fields.raw !== undefined) addRawProblems(problems, fields);
  else if (!isObject(fields.data)) problems.push({ field: "data", message: "must be an object" });
  if (fields.metadata !== undefined && (!isObject(fields.metadata) || isEmpty(fields.metadata))) {
    problems.push({
      field: "metadata",
      message: "must be an object with at least one property, or omitted",
    });
  }
  if (fields.links !== undefined) addLinkProblems(problems, fields.links);
  addDescribedProblems(problems, fields);
  if (fields.timestamp !== undefined) addTimestampProblems(problems, fields.timestamp, now);
  return problems;
}

const described = Object.entries({ ...eventFields, ...traceFields }).map(([name, field]) => ({
  name: name as keyof typeof eventFields | keyof typeof traceFields,
  field,
  path: apiPath(name, field),
}));

function addDescribedProblems(problems: FieldError[], fields: EventFields): void {
  for (const { name, field, path } of described) {
    const value = fields[name];
    if (value !== undefined) problems.push(...judgeField(field, path, value));
  }
}

/**
 * Converts an RFC 3339 date-time to Unix milliseconds; null if it is not valid. A leap second counts as the second
 * before it, because Unix time has no leap seconds.
 */
export function parseTimestamp(text: unknown): number | null {
  if (typeof text !== "string" || text.length > 40 || !rfc3339.test(text)) return null;
  const isLeapSecond = text.startsWith("60", secondsAt);
  const time = Date.parse(isLeapSecond ? `${text.slice(0, secondsAt)}59${text.slice(secondsAt + 2)}` : text);
  return time >= earliestMs && isDayOfCalendar(text.slice(0, 10)) ? time : null;
}

const secondsAt = "2026-03-15T12:34:".length;
/** The year 1. With its offset, an earlier date could fall into the year 0 or before, which RFC 3339 cannot express. */
const earliestMs = Date.parse("0001-01-01T00:00:00Z");

/** `Date` interprets 30 February as a day in March. */
function isDayOfCalendar(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).getUTCDate() === Number(date.slice(8));
}

/**
 * Raw content of any media type. It requires a type and at least one byte (CEW-2.1-4), and excludes the fields that
 * belong to JSON `data`.
 */
function addRawProblems(problems: FieldError[], fields: EventFields): void {
  const raw = fields.raw;
  if (!isObject(raw) || !(raw["body"] instanceof Uint8Array) || raw["body"].byteLength === 0) {
    problems.push({ field: "body", message: "must have at least one byte" });
  }
  const contentType = isObject(raw) ? raw["contentType"] : undefined;
  if (typeof contentType !== "string" || contentType.length > 255 || !mediaType.test(contentType)) {
    problems.push({ field: "content-type", message: "must be a media type such as application/xml" });
  }
  for (const field of ["data", "metadata", "links"] as const) {
    if (fields[field] !== undefined) problems.push({ field, message: "cannot be combined with raw content" });
  }
}

/**
 * A media type as in RFC 9110, section 8.3.1, with parameters. Control characters are excluded, so that it is safe in a
 * header.
 */
const mediaType =
  /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:[ \t]*;[ \t]*[\w!#$&^.+-]+=(?:[\w!#$&^.+-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))*$/;

const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;

function addTimestampProblems(problems: FieldError[], timestamp: unknown, now: number): void {
  const time = parseTimestamp(timestamp);
  if (time === null)
    problems.push({
      field: "timestamp",
      message: "must be an RFC 3339 date-time such as 2026-03-15T12:34:56Z",
    });
  else if (time > now + timestampAheadMsMax)
    problems.push({ field: "timestamp", message: "must not be in the future" });
}

function addLinkProblems(problems: FieldError[], links: unknown): void {
  if (!Array.isArray(links) || links.length === 0 || links.length > linksCountMax) {
    problems.push({
      field: "links",
      message: `must be an array of 1 to ${linksCountMax} objects, or omitted`,
    });
    return;
  }
  for (const [index, link] of links.entries()) {
    if (!isObject(link)) {
      problems.push({ field: `links[${index}]`, message: "must be an object" });
      continue;
    }
    for (const [name, value] of Object.entries(link)) {
      if (!linkProperties.has(name))
        problems.push({ field: `links[${index}].${name}`, message: "is not a property of a link" });
      else if (typeof value !== "string")
        problems.push({ field: `links[${index}].${name}`, message: "must be a string" });
    }
  }
}

const linkProperties: ReadonlySet<string> = new Set(["rel", "method", "href"]);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEmpty(object: Record<string, unknown>): boolean {
  for (const name in object) {
    if (Object.hasOwn(object, name)) return false;
  }
  return true;
}
