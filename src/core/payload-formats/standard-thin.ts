import { elementsOf, membersOf, type Span, textOf } from "../json/members.ts";
import { type EventContent, noContentHeaders, type RenderedContent } from "./content.ts";
import { standardContentType } from "./standard.ts";

/** Maximum bytes of an identifier. */
const valueBytesMax = 256;

/**
 * The standard object reduced to what a receiver needs to ask its provider for the rest (TS16-49): the identifiers of
 * `data`, as they were written, and `links`. An identifier is a string, a number, or a list of these, named `id` or
 * `uuid`, or with a name that ends in `_id`, `_ids`, `Id` or `Ids`. If there is none, or the event has another media
 * type, `data` contains the id of the event.
 */
export function renderStandardThin(content: EventContent): RenderedContent {
  const { eventType, timestamp, eventId, raw, body } = content;
  const members = raw ? new Map<string, Span>() : membersOf(body, 0);
  const data = members.get("data");
  const identifiers = data === undefined ? [] : identifiersOf(body, data);
  const kept = identifiers.length > 0 ? identifiers : [`"event_id":${JSON.stringify(eventId)}`];
  const links = members.get("links");
  const tail = links === undefined ? "" : `,"links":${textOf(body, links)}`;
  const head = `{"type":"${eventType}","timestamp":"${new Date(timestamp).toISOString()}","data":`;
  return {
    contentType: standardContentType,
    body: Buffer.from(`${head}{${kept.join()}}${tail}}`),
    headers: noContentHeaders,
  };
}

function identifiersOf(body: Uint8Array, data: Span): readonly string[] {
  if (body[data.start] !== openBrace) return [];
  return [...membersOf(body, data.start)].flatMap(([name, span]) =>
    names.test(name) && isIdentifier(body, span) ? [`${JSON.stringify(name)}:${textOf(body, span)}`] : [],
  );
}

function isIdentifier(body: Uint8Array, span: Span): boolean {
  if (span.end - span.start > valueBytesMax) return false;
  const first = body[span.start];
  if (first === openBracket) return elementsOf(body, span.start).every(({ start }) => isPlain(body[start]));
  return isPlain(first);
}

/** The first byte of a string or number. */
function isPlain(byte: number | undefined): boolean {
  return byte !== undefined && (byte === quote || byte === minus || (byte >= zero && byte <= nine));
}

const names = /^(?:id|uuid)$|(?:_id|_ids|Id|Ids)$/;
const quote = 0x22;
const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;
const openBracket = 0x5b;
const openBrace = 0x7b;
